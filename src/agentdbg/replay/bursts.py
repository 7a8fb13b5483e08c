"""What comes to one event loop at about the same time: outcomes that its tasks wait for, and what threads give it.

What was there within a few turns of the loop, before the program came to rest, is a *burst*. It comes the same number
of turns apart again, so that whoever waits for the first of it sees as much as it saw then. The turns are counted as
`agentdbg.recording.turns` counted them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.recording.turns import MARKERS, NEAR

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, Task
PATIENCE = 64
"""Turns that what follows waits for what is due and is not there."""


@dataclass(slots=True, eq=False)
class Sleeper:
    """A task that waits for an outcome's turn."""

    place: float
    loop: AbstractEventLoop
    future: Future[None]
    gap: float
    task: Task[Any] | None
    soon: bool = field(default=False, init=False)
    """It is let go on as soon as its loop has nothing left to run."""

    def wake(self) -> None:
        """Let the task go on."""
        if not self.future.done():
            self.future.set_result(None)


@dataclass(slots=True, eq=False)
class Arriving(Sleeper):
    """What a thread gave a loop, and waits there for its turn."""

    run: Callable[[], None]
    context: Context

    def wake(self) -> None:
        """Let it run where a task would go on that waited for the outcome."""
        if not self.future.done():
            self.future.set_result(None)
            self.loop.call_soon(self.run, context=self.context)


class Burst:
    """The outcomes of one burst, which all belong to one event loop.

    Markers go through the loop's queue as they did while recording. What is put into the queue ahead of a marker runs
    when the markers that are in the queue then have been counted.
    """

    def __init__(self, ticks: Mapping[int, int], arrive: Callable[..., None], is_there: Callable[[int], bool]) -> None:
        self._left = list(ticks.items())
        self._arrive = arrive
        self._is_there = is_there
        self._ticks = 0
        self._markers = 0
        self._released: set[float] = set()
        self._patience = PATIENCE

    def counts(self, place: float) -> bool:
        """Whether an outcome is still to be released here."""
        return self._markers > 0 and any(each == place for each, _ in self._left)

    def is_due(self, place: float) -> bool:
        """Whether what comes to the loop now comes when it came."""
        if not self._markers or self._released or not self._left:
            return False
        return self._left[0][0] == place and self._left[0][1] <= self._ticks

    def ended(self, place: int, loop: AbstractEventLoop) -> None:
        """An outcome of the burst is in the replay's record."""
        self._left = [each for each in self._left if each[0] != place]
        self._released.discard(place)
        self._patience = PATIENCE
        self._advance(loop, self._markers)
        if self._left and self._markers < MARKERS:
            self._markers += 1
            loop.call_soon(self._tick, loop, NEAR)

    def _tick(self, loop: AbstractEventLoop, turns: int) -> None:
        if self._patience and self._left and self._left[0][1] <= self._ticks + self._markers - 1:
            self._patience -= 1  # what is due is not there yet: it and what follows stay as far apart as they were
            self._advance(loop, self._markers - 1)
            loop.call_soon(self._tick, loop, turns)
            return
        self._ticks += 1
        self._advance(loop, self._markers - 1)
        if turns > 1 and self._left:
            loop.call_soon(self._tick, loop, turns - 1)
            return
        self._markers -= 1
        if not self._markers:
            left, self._left = self._left, []
            for place, _ in left:
                self._arrive(loop, place, at_once=False)

    def _advance(self, loop: AbstractEventLoop, ahead: int) -> None:
        """Let those come that shall run when the markers ahead have been counted; nothing passes what a thread owes."""
        while self._left and self._left[0][1] <= self._ticks + ahead and self._is_there(self._left[0][0]):
            place, _ = self._left.pop(0)
            self._released.add(place)
            self._arrive(loop, place, at_once=True)


def running_loop() -> AbstractEventLoop | None:
    """The event loop that this thread runs, without loading asyncio for the question."""
    events: Any = sys.modules.get("asyncio.events")
    found: AbstractEventLoop | None = None if events is None else events._get_running_loop()
    return found
