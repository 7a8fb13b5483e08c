"""A recorded run whose places are elsewhere now: its root in a scratch directory, its paths mapped to this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from agentdbg.model.records import Json, RunSummary
from agentdbg.replay.spec import expand
from agentdbg.replay.trust import roots_of
from agentdbg.store.reader import DirectoryRunSource
from agentdbg.store.step_list import ExtraEvent

ROOTS = ("root", "venv", "home")
_PATHS = ("file", "cwd", "target")
_WORDS = ("path", "argv", "arguments")


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
        mapped: dict[str, Json] = {**self._entry(entry, roots_of(found)), "roots": cast(Json, roots)}
        return replace(found, meta={**found.meta, "entry": mapped, "roots": cast(Json, roots)})

    def extra_events(self, kind: str | None = None) -> Iterator[ExtraEvent]:
        """Records that belong to no step; the paths of files mapped."""
        roots = roots_of(super().summary())
        for event in super().extra_events(kind):
            path = event.members.get("path")
            if event.type == "file" and isinstance(path, str):
                yield replace(event, members={**event.members, "path": self._path(path, roots)})
            else:
                yield event

    def _path(self, path: str, roots: Mapping[str, str]) -> str:
        """A recorded path, mapped; one that only follows its root stays as it is written."""
        before = expand(path, roots)
        after = moved(before, self._moves)
        return path if after == before else after

    def _entry(self, entry: Mapping[str, Json], roots: Mapping[str, str]) -> dict[str, Json]:
        """An entry point with its paths mapped."""
        found = dict(entry)
        for name in _PATHS:
            if isinstance(found.get(name), str):
                found[name] = self._path(str(found[name]), roots)
        for name in _WORDS:
            listed = found.get(name)
            if isinstance(listed, list):
                found[name] = [self._path(each, roots) if isinstance(each, str) else each for each in listed]
        for name in ("callable", "launch"):
            if isinstance(found.get(name), dict):
                found[name] = self._entry(_mapping(found[name]), roots)
        return found


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
        if path == before:
            return after
        if path.startswith(before.rstrip("/") + "/"):
            return after + path[len(before.rstrip("/")) :]
    return path


def check_moves(source: DirectoryRunSource, moves: Sequence[tuple[str, str]]) -> None:
    """See to it that every mapping has something to map.

    Raises:
        BadMapping: Nothing of the record begins with one of the paths.
    """
    wanted = [before for before, _ in moves if not before.startswith("{")]
    if not wanted:
        return
    summary = source.summary()
    roots = roots_of(summary)
    there = [*roots.values(), *(expand(each, roots) for each in _paths_of(_mapping(summary.meta.get("entry"))))]
    for before in wanted:
        end = before.rstrip("/") + "/"
        if any(f"{path}/".startswith(end) for path in there):
            continue
        files = (str(event.members.get("path")) for event in source.extra_events("file"))
        if any(f"{expand(path, roots)}/".startswith(end) for path in files):
            continue
        known = "" if roots else "; it does not say where {root} was: use --map {root}=DIRECTORY"
        raise BadMapping(f"--map {before}: nothing in the record of run {summary.run_id} begins with that{known}")


def _paths_of(entry: Mapping[str, Json]) -> Iterator[str]:
    """What may be a path of an entry point."""
    for value in entry.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, str))
        elif isinstance(value, dict):
            yield from _paths_of(_mapping(value))


def published_entry(source: DirectoryRunSource) -> dict[str, Json]:
    """The entry point that a replay of the run is published with."""
    if isinstance(source, MovedRunSource) and source.passing:
        return source.entry
    return _mapping(source.summary().meta.get("entry"))


def _roots(roots: Mapping[str, str], moves: Sequence[tuple[str, str]]) -> dict[str, str]:
    named = {before[1:-1]: after for before, after in moves if before.startswith("{")}
    return {**{name: moved(place, moves) for name, place in roots.items()}, **named}


def _mapping(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}
