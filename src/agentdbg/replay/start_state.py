"""The state that a replay starts from: files as they were when the agent first wrote them, on copy-on-write views."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentdbg.compare.unseen import unseen_in
from agentdbg.replay.kernel.namespaces import SPECIAL
from agentdbg.replay.trust import roots_of
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

MOST_VIEWS = 20


@dataclass(frozen=True, slots=True)
class StartState:
    """Attributes:
    views: Folders to be seen copy-on-write, outer ones first.
    files: Path to the scratch file with its content, or to ``None`` where there was no such file or directory.
    problems: What could not be put back, in words.
    folders: Directories that were there.
    """

    views: tuple[str, ...]
    files: Mapping[str, str | None]
    problems: tuple[str, ...]
    folders: tuple[str, ...] = ()


def start_state(source: DirectoryRunSource, cwd: str, scratch: Path) -> StartState:
    """Read the start state out of a record.

    Args:
        source: The recorded run.
        cwd: Where the agent is started.
        scratch: Contents are put below this directory.
    """
    roots = roots_of(source.summary())
    (scratch / "start").mkdir(mode=0o700, exist_ok=True)
    files: dict[str, str | None] = {}
    problems: list[str] = []
    folders: list[str] = []
    for number, event in enumerate(source.extra_events("file")):
        members = event.members
        if members.get("mode") != "write":
            continue
        path = _expanded(str(members.get("path", "")), roots)
        if not os.path.isabs(path) or path in files:
            continue
        if members.get("directory"):
            folders.append(path)
            continue
        if members.get("absent"):
            files[path] = None
            continue
        ref = ref_from(members.get("body"))
        try:
            data = source.body(ref) if ref is not None else None
        except BodyMissing:
            data = None
        if data is None:
            problems.append(f"start state not recorded: {path}")
            continue
        if members.get("redacted"):
            problems.append(f"start state is redacted: {path}")
        place = scratch / "start" / str(number)
        place.write_bytes(data)
        files[path] = str(place)
    views = _views(cwd, [*files, *folders])
    return StartState(views, {**dict.fromkeys(_temporary(source, roots)), **files}, tuple(problems), tuple(folders))


def _temporary(source: DirectoryRunSource, roots: Mapping[str, str]) -> list[str]:
    """What the agent made under names of ``tempfile``: none of it was there, and its names come again."""
    found: list[str] = []
    for effect in unseen_in(source):
        path = _expanded(effect.detail, roots)
        if effect.temporary and not effect.covered and os.path.isabs(path):
            found += [] if any(_is_within(path, other) for other in found) else [path]
    return found


def _views(cwd: str, files: Sequence[str]) -> tuple[str, ...]:
    """Where the agent wrote, where it is started, and where temporary files go; none within another."""
    wanted = [os.path.realpath(place) for place in (cwd, tempfile.gettempdir(), *map(os.path.dirname, files))]
    found: list[str] = []
    for place in sorted(dict.fromkeys(wanted), key=len):
        if place not in SPECIAL and os.path.isdir(place) and not any(_is_within(place, other) for other in found):
            found.append(place)
    return tuple(found[:MOST_VIEWS])


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _expanded(path: str, roots: Mapping[str, str]) -> str:
    from agentdbg.replay.spec import expand

    return expand(path, roots)
