"""Where a replay finds a server's application again: a module-level name of the program's own."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.recording.entry_point import named, run_as, surroundings

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording


@dataclass(frozen=True, slots=True)
class Place:
    """A module-level name.

    Attributes:
        module: Name of the module.
        qualname: The name in it, dotted where it is a member.
        file: The module's file.
        factory: The name is of a function that makes the application.
    """

    module: str
    qualname: str
    file: str
    factory: bool = False

    def callable(self, run: RunRecording) -> dict[str, object]:
        """As it stands in ``run.json``."""
        return {"module": self.module, "qualname": self.qualname, "file": run.recorder.neutral(self.file)}


_found: dict[int, tuple[object, Place | None]] = {}


def place_of_import(text: str, *, factory: bool) -> Place | None:
    """The place that a server's import string names, once it is loaded."""
    module, _, attribute = text.partition(":")
    file = getattr(sys.modules.get(module), "__file__", None)
    return Place(module, attribute, os.path.abspath(file), factory) if attribute and file else None


def place_of(target: object) -> Place | None:
    """The place of an object, where a module of the program's own has a name for it."""
    if target is None:
        return None
    known = _found.get(id(target))
    if known is not None and known[0] is target:
        return known[1]
    found = named(target)
    place = None if found is None else Place(run_as(found[0]), *found[1:])
    _found[id(target)] = (target, place)
    return place


class _Surroundings:
    """What every entry point of this process has in common, written down once."""

    def __init__(self) -> None:
        self._key: object = None
        self._known: dict[str, object] = {}

    def of(self, run: RunRecording) -> dict[str, object]:
        """Search path, argv, directory, interpreter; not the launch, which would start a server again."""
        key = (run.recorder, tuple(map(str, sys.path)), tuple(map(str, sys.argv)))
        if self._key != key:
            self._known = surroundings(run)
            self._known.pop("launch", None)
            self._key = key
        return {**self._known, "root": run.facts.root}


_common = _Surroundings()


def entry_of(
    run: RunRecording, place: Place | None, kind: str, facts: dict[str, object], body: dict[str, object], problem: str
) -> dict[str, object]:
    """The entry point of a request or task.

    Args:
        run: Its run.
        place: What is called.
        kind: How it is called: ``asgi`` or ``celery``.
        facts: What that needs beside the arguments.
        body: Where the arguments are.
        problem: Why it cannot be replayed; empty where it can.
    """
    entry: dict[str, object] = {"args": body, **_common.of(run)}
    if place is None or problem:
        return {**entry, "not_replayable": [problem or "the application is no module-level name of the program's own"]}
    return {**entry, "callable": place.callable(run), kind: facts}
