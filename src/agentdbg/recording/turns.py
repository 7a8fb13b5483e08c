"""Counts the turns of an event loop between outcomes, so that a replay can tell what the program saw at once.

Two tools that are done in one turn of the loop are both done for whoever waits for the first of them; with a few
turns between, they are not. Times do not tell: a turn lasts microseconds, and so does writing an event down.

From each outcome a *marker* goes through the loop's queue turn by turn, right ahead of what that outcome leads to.
All markers advance one count. An outcome's count therefore says how far what every earlier one led to had come. Counts
begin again, with another *burst*, when the program came to rest between. Of the loops of ``asyncio`` more is known, see
`agentdbg.recording.loop_steps`; this is for all others.
"""

from __future__ import annotations

import sys
import threading
from contextvars import Context
from itertools import count
from typing import TYPE_CHECKING, Any

from agentdbg.recording.loop_steps import count_steps, steps

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Scope

NEAR = 16
"""Turns that a marker goes; whoever has not come to rest by then is not waiting for the outcome."""
MARKERS = 64
"""Markers at a time."""
_loops = count(1)


class LoopTurns:
    """The count of one loop."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop
        self.number = next(_loops)
        self.turn = 0
        self.burst = 0
        self.ticks = 0
        self._markers = 0
        self._turning = False
        self._context = Context()

    def asked(self) -> list[int]:
        """A call begins: number of the loop, number of its turn (roughly: it differs where others came to run)."""
        if not self._turning:
            self._turning = True
            self.loop.call_soon(self._turn, context=self._context)
        return [self.number, self.turn]

    def ended(self) -> list[int]:
        """A call ends: the same two, the burst and the count in it."""
        if not self._markers:
            self.burst += 1
            self.ticks = 0
        found = [self.number, self.turn, self.burst, self.ticks]
        if self._markers < MARKERS:
            self._markers += 1
            self.loop.call_soon(self._tick, self.burst, NEAR, context=self._context)
        return found

    def _turn(self) -> None:
        self._turning = False
        self.turn += 1

    def _tick(self, burst: int, left: int) -> None:
        if burst != self.burst or not self._markers:
            return  # the program has come to rest since
        self.ticks += 1
        if self._rests():
            self._markers = 0
        elif left > 1:
            self.loop.call_soon(self._tick, burst, left - 1, context=self._context)
        else:
            self._markers -= 1

    def _rests(self) -> bool:
        """Whether the loop has nothing to do but count; one that does not say is taken to be busy."""
        ready = getattr(self.loop, "_ready", None)
        return ready is not None and len(ready) < self._markers + self._turning


class _Local(threading.local):
    turns: LoopTurns | None = None


_local = _Local()


def note_turn(scope: Scope, event: dict[str, object]) -> None:
    """Add the turn of this thread's event loop to an intent or outcome; a replay keeps what was noted then."""
    if scope.inside_tool or scope.run.recorder.answerer is not None:
        return
    events: Any = sys.modules.get("asyncio.events")  # not imported for the question
    loop: AbstractEventLoop | None = None if events is None else events._get_running_loop()
    if loop is None:
        return
    event["turn"] = _ended(loop, scope.run) if "of" in event else _asked(loop, scope.run)


def arrival(loop: AbstractEventLoop, run: RunRecording) -> list[int]:
    """What another thread gave this thread's event loop is there: counted as an outcome is."""
    return _ended(loop, run)


def _asked(loop: AbstractEventLoop, run: RunRecording) -> list[int]:
    asked, counted = _turns(loop).asked(), steps(run, loop)
    return asked if counted is None else [*asked, counted]


def _ended(loop: AbstractEventLoop, run: RunRecording) -> list[int]:
    turns, counted = _turns(loop), steps(run, loop)
    return turns.ended() if counted is None else [turns.number, turns.turn, 0, 0, counted]


def _turns(loop: AbstractEventLoop) -> LoopTurns:
    turns = _local.turns
    if turns is None or turns.loop is not loop:
        count_steps()
        turns = _local.turns = LoopTurns(loop)
    return turns
