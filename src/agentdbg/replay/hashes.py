"""Gives tasks and futures the hashes that they had in the record, and with them sets their order.

See `agentdbg.recording.hashes`. What the record has no hash of keeps its own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeVar

from agentdbg.model.records import HASH_DRAW, Json
from agentdbg.recording import hashes
from agentdbg.recording.hooks import on_import, on_standard_import, replace_everywhere
from agentdbg.replay.by_hand import by_hand

T = TypeVar("T")
GIVEN = "_agentdbg_hash"
"""Attribute of an object that has a recorded hash."""


class _Local(threading.local):
    due: int | None = None


_local = _Local()
_places: dict[int, int | None] = {}


class RecordedHashes:
    """By lane and site, in order. Thread-safe."""

    def __init__(self, draws: Sequence[tuple[str, str, str, Json]]) -> None:
        self._future: Any = None
        self._waiting: dict[tuple[str, str], deque[int]] = {}
        for lane, source, site, value in draws:
            if source == HASH_DRAW and isinstance(value, int):
                self._waiting.setdefault((lane, site), deque()).append(value)

    def install(self) -> None:
        """Let what ``asyncio`` and ``concurrent.futures`` make from now on have these hashes."""
        hashes.giver = self
        on_standard_import("asyncio.tasks", _tasks)
        on_standard_import("concurrent.futures._base", lambda module: _by_attribute(module.Future))
        on_import("anyio._backends._asyncio", lambda module: _by_attribute(module.CancelScope))

    def making(self, lane: str, site: str, make: Callable[[], T]) -> T:
        """Make a task or future, with the hash that the record has."""
        return _due(self._next(lane, site), make)

    def future(self, lane: str, site: str, loop: Any, make: Callable[[], Any]) -> Any:
        """Make a future for a loop, with the hash that the record has."""
        due = self._next(lane, site)
        if due is None:
            return make()
        import asyncio

        self._future = self._future or with_recorded_hash(asyncio.Future)
        return _due(due, lambda: self._future(loop=loop))

    def give(self, lane: str, site: str, made: Any) -> None:
        """Give the hash that the record has to an object that can have one."""
        found = self._next(lane, site)
        if vars(type(made)).get("__hash__") is not _given:
            return
        try:
            setattr(made, GIVEN, found)
        except AttributeError:  # of a class with slots: known by its place, which the next one there takes over
            _places[id(made)] = found

    def _next(self, lane: str, site: str) -> int | None:
        waiting = self._waiting.get((lane, site))
        if not waiting or by_hand():
            return None
        try:
            return waiting.popleft()
        except IndexError:
            return None  # another thread was faster


def _due(due: int | None, make: Callable[[], T]) -> T:
    before, _local.due = _local.due, due
    try:
        return make()
    finally:
        _local.due = before


def _given(self: Any) -> int:
    found = getattr(self, GIVEN, None) or _places.get(id(self))
    return found if type(found) is int else object.__hash__(self)


def _by_attribute(owner: Any) -> None:
    owner.__hash__ = _given


def with_recorded_hash(base: Any) -> Any:
    """A class like ``base``, which is of C, whose next object has the hash that is due."""

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = base.__new__(cls, *args, **kwargs)
        due, _local.due = _local.due, None
        made._agentdbg_hash = object.__hash__(made) if due is None else due
        return made

    members = {
        "__slots__": (GIVEN,),
        "__new__": new,
        "__hash__": lambda self: self._agentdbg_hash,
        "__module__": base.__module__,
        "__doc__": base.__doc__,
    }
    return type(base.__name__, (base,), members)


def _tasks(module: ModuleType) -> None:
    task = with_recorded_hash(module.Task)
    replace_everywhere(module, "Task", task)
    if hasattr(module, "eager_task_factory"):
        replace_everywhere(module, "eager_task_factory", module.create_eager_task_factory(task))
    _by_attribute(module._GatheringFuture)
