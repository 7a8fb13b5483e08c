"""Which formats there are, and how a file or folder becomes runs. What is in a file decides, never its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from agentdbg.importing import mini_swe_agent
from agentdbg.importing.json_files import ForeignFile
from agentdbg.store.files import StoreError
from agentdbg.store.protocols import RunSource

MAX_FILES: Final = 10_000
MAX_DEPTH: Final = 4
_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run in a foreign file; nothing but what was needed to find it has been read.

    Attributes:
        run_id: Its id; of several equal ones in a folder, later ones get a number.
        format: Name of the format.
        path: The file.
        open: Opens it.
    """

    run_id: str
    format: str
    path: Path
    open: Callable[[], RunSource]


class Format(Protocol):
    """A module that reads one format."""

    NAME: str

    def probe(self, file: ForeignFile) -> bool:
        """Whether the file's content is of this format."""

    def runs(self, file: ForeignFile) -> list[tuple[str, Callable[[], RunSource]]]:
        """The runs in it: id, and what opens it."""


FORMATS: Final[tuple[Format, ...]] = (mini_swe_agent,)


def open_path(path: str | os.PathLike[str]) -> list[FoundRun]:
    """The runs in a file or folder that another tool wrote.

    Raises:
        StoreError: There is none, or it cannot be read; one clear line.
    """
    place = Path(path)
    if not place.is_dir():
        return _in_file(place)
    found: list[FoundRun] = []
    for file in _files(place):
        try:
            found += _recognised(ForeignFile(file))
        except (OSError, StoreError):
            continue  # a folder holds other things too
    if not found:
        raise StoreError(f"{path} holds no run of a known format ({_known()})")
    return _told_apart(found)


def open_one(path: str | os.PathLike[str], run_id: str = "") -> RunSource:
    """Open the run of that id, or the only one.

    Raises:
        StoreError: There is none, there are several, or it cannot be read.
    """
    found = open_path(path)
    if not run_id and len(found) == 1:
        return found[0].open()
    matching = [run for run in found if run.run_id == run_id] if run_id else []
    if matching:
        return matching[0].open()
    named = ", ".join(run.run_id for run in found[:_LISTED]) + (", …" if len(found) > _LISTED else "")
    if run_id:
        raise StoreError(f"{path} holds no run {run_id!r}; it holds {named}")
    raise StoreError(f"{path} holds {len(found)} runs: name one as {path}::RUN_ID ({named})")


def _in_file(path: Path) -> list[FoundRun]:
    try:
        file = ForeignFile(path)
        found = _recognised(file)
    except OSError as problem:
        raise StoreError(f"{path} cannot be read: {(problem.strerror or str(problem)).lower()}") from problem
    if not found:
        broken = file.looks_like_json() and file.document.problem
        why = f"; as JSON, {broken}" if broken else ""
        raise StoreError(f"{path} is no pack and of no known format ({_known()}){why}")
    return found


def _recognised(file: ForeignFile) -> list[FoundRun]:
    kind = next((kind for kind in FORMATS if kind.probe(file)), None)
    return [] if kind is None else [FoundRun(name, kind.NAME, file.path, opener) for name, opener in kind.runs(file)]


def _files(root: Path) -> Iterator[Path]:
    """Regular files below a folder, links not followed, in a fixed order."""
    count = 0
    for folder, folders, names in os.walk(root):
        folders.sort()
        if len(Path(folder).relative_to(root).parts) >= MAX_DEPTH:
            folders.clear()
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                count += 1
                if count > MAX_FILES:
                    return
                yield path


def _told_apart(found: list[FoundRun]) -> list[FoundRun]:
    seen: dict[str, int] = {}
    runs: list[FoundRun] = []
    for run in found:
        number = seen[run.run_id] = seen.get(run.run_id, 0) + 1
        name = run.run_id if number == 1 else f"{run.run_id}.{number}"
        runs.append(FoundRun(name, run.format, run.path, run.open))
    return runs


def _known() -> str:
    return ", ".join(kind.NAME for kind in FORMATS)
