"""A recorded run whose places are elsewhere now: its root in a scratch directory, its paths mapped to this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from agentdbg.model.records import Json, RunSummary
from agentdbg.replay.trust import roots_of
from agentdbg.store.reader import DirectoryRunSource
from agentdbg.store.step_list import ExtraEvent

ROOTS = ("root", "venv", "home")
_PATHS = ("file", "cwd", "target")


class BadMapping(ValueError):
    """What ``--map`` says is no mapping; the message says why."""


class MovedRunSource(DirectoryRunSource):
    """The same record, read with other places.

    Attributes:
        passing: Whether the new places are gone after the replay.
        vouched: Whether this user recorded the run, which its seal does not say any more.
        entry: The entry point as recorded.
    """

    def __init__(
        self,
        source: DirectoryRunSource,
        moves: Sequence[tuple[str, str]],
        *,
        passing: bool = False,
        vouched: bool = False,
    ) -> None:
        """Read a run's record with its places mapped.

        Args:
            source: The run.
            moves: Beginnings of paths, or ``{root}``, ``{venv}``, ``{home}``, each with what stands there instead.
            passing: The new places are gone after the replay, so that what is published names the old ones.
            vouched: Whether this user recorded the run.
        """
        super().__init__(source.root, check_modes=False)
        self._moves = tuple(moves)
        self.passing = passing
        self.vouched = vouched
        self.entry = _mapping(source.summary().meta.get("entry"))
        self.index(None)

    def summary(self) -> RunSummary:
        """The run's row, its entry point's paths mapped."""
        found = super().summary()
        entry = _mapping(found.meta.get("entry"))
        roots = _roots(roots_of(found), self._moves)
        moved: dict[str, Json] = {**_entry(entry, self._moves), "roots": cast(Json, roots)}
        return replace(found, meta={**found.meta, "entry": moved, "roots": cast(Json, roots)})

    def extra_events(self, kind: str | None = None) -> Iterator[ExtraEvent]:
        """Records that belong to no step; the paths of files mapped."""
        for event in super().extra_events(kind):
            path = event.members.get("path")
            if event.members.get("e") == "file" and isinstance(path, str):
                yield replace(event, members={**event.members, "path": moved(path, self._moves)})
            else:
                yield event


def parse_map(text: str) -> tuple[str, str]:
    """``FROM=TO``, taken apart.

    Raises:
        BadMapping: It is none.
    """
    before, sign, after = text.partition("=")
    if not sign or not before or not after:
        raise BadMapping(f"'{text}' is no mapping; use FROM=TO, as in /home/ann/shop=/srv/shop or {{root}}=/srv/shop")
    name = before.strip("{}")
    is_root = before == f"{{{name}}}"
    if is_root and name not in ROOTS:
        raise BadMapping(f"{before}: there are {', '.join(f'{{{each}}}' for each in ROOTS)}")
    if not is_root and not before.startswith("/"):
        raise BadMapping(f"{before}: use the beginning of an absolute path, or {{root}}, {{venv}}, {{home}}")
    target = os.path.abspath(os.path.expanduser(after))
    if not os.path.isdir(target):
        raise BadMapping(f"{after} is no directory")
    return (before if is_root else before.rstrip("/") or "/"), target


def moved(path: str, moves: Sequence[tuple[str, str]]) -> str:
    """A path with its beginning mapped: by the longest one that fits."""
    for before, after in sorted(moves, key=lambda move: -len(move[0])):
        if path == before or path.startswith(before.rstrip("/") + "/"):
            return after + path[len(before.rstrip("/")) :] if path != before else after
    return path


def published_entry(source: DirectoryRunSource) -> dict[str, Json]:
    """The entry point that a replay of the run is published with."""
    if isinstance(source, MovedRunSource) and source.passing:
        return source.entry
    return _mapping(source.summary().meta.get("entry"))


def _roots(roots: Mapping[str, str], moves: Sequence[tuple[str, str]]) -> dict[str, str]:
    named = {before[1:-1]: after for before, after in moves if before.startswith("{")}
    return {**{name: moved(place, moves) for name, place in roots.items()}, **named}


def _entry(entry: Mapping[str, Json], moves: Sequence[tuple[str, str]]) -> dict[str, Json]:
    """An entry point with its absolute paths mapped; those that start with ``{root}`` follow the root."""
    paths = [move for move in moves if not move[0].startswith("{")]
    found = dict(entry)
    for name in _PATHS:
        if isinstance(found.get(name), str):
            found[name] = moved(str(found[name]), paths)
    for name in ("path", "argv", "arguments"):
        listed = found.get(name)
        if isinstance(listed, list):
            found[name] = [moved(each, paths) if isinstance(each, str) else each for each in listed]
    for name in ("callable", "launch"):
        if isinstance(found.get(name), dict):
            found[name] = _entry(_mapping(found[name]), moves)
    return found


def _mapping(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}
