"""The state that a replay starts from: files as they were when the agent first wrote them, on copy-on-write views."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    whole: Those of them of which everything that was in them is known.
    links: Symbolic links that were there, and where they led.
    about: Permissions and time of change of files, by path.
    """

    views: tuple[str, ...]
    files: Mapping[str, str | None]
    problems: tuple[str, ...]
    folders: tuple[str, ...] = ()
    whole: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def entries(self) -> list[dict[str, object]]:
        """Everything that is put back, in its order."""
        found: list[dict[str, object]] = [
            {"path": path, "directory": True, "whole": path in self.whole} for path in self.folders
        ]
        found += [
            {"path": path, "content": content, "about": self.about.get(path)} for path, content in self.files.items()
        ]
        return found + [{"path": path, "link": target} for path, target in self.links.items()]


def start_state(source: DirectoryRunSource, cwd: str, scratch: Path) -> StartState:
    """Read the start state out of a record.

    Args:
        source: The recorded run.
        cwd: Where the agent is started.
        scratch: Contents are put below this directory.
    """
    roots = roots_of(source.summary())
    (scratch / "start").mkdir(mode=0o700, exist_ok=True)
    found = _Found()
    for number, event in enumerate(source.extra_events("file")):
        members = event.members
        path = _expanded(str(members.get("path", "")), roots)
        if members.get("mode") == "write" and os.path.isabs(path) and not found.has(path):
            found.take(path, members, source, roots, scratch / "start" / str(number))
    views = _views(cwd, [*found.files, *found.folders, *found.links])
    files = {**dict.fromkeys(_temporary(source, roots)), **found.files}
    whole = frozenset(found.whole)
    return StartState(views, files, tuple(found.problems), tuple(found.folders), whole, found.links, found.about)


class _Found:
    """What the record says of one file or directory after the other."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.folders: list[str] = []
        self.whole: list[str] = []
        self.links: dict[str, str] = {}
        self.about: dict[str, tuple[int, int]] = {}
        self.problems: list[str] = []

    def has(self, path: str) -> bool:
        """Whether it is known how something was at first."""
        return path in self.files or path in self.links or path in self.folders

    def take(
        self,
        path: str,
        members: Mapping[str, object],
        source: DirectoryRunSource,
        roots: Mapping[str, str],
        place: Path,
    ) -> None:
        """Read one event."""
        if members.get("directory"):
            self.folders.append(path)
            if members.get("whole"):
                self.whole.append(path)
        elif members.get("absent"):
            self.files[path] = None
        elif isinstance(link := members.get("link"), str):
            self.links[path] = _expanded(link, roots)
        elif (data := _content(source, members)) is None:
            self.problems.append(f"start state not recorded: {path}")
        else:
            if members.get("redacted"):
                self.problems.append(f"start state is redacted: {path}")
            place.write_bytes(data)
            self.files[path] = str(place)
            permissions, modified = members.get("permissions"), members.get("modified_ns")
            if isinstance(permissions, int) and isinstance(modified, int):
                self.about[path] = (permissions & 0o777, modified)


def _content(source: DirectoryRunSource, members: Mapping[str, object]) -> bytes | None:
    ref = ref_from(members.get("body"))
    try:
        return source.body(ref) if ref is not None else None
    except BodyMissing:
        return None


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
