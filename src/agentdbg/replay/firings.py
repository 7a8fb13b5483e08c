"""Lets the timers of event loops fire where they fired among the recorded calls (`agentdbg.recording.firings`).

A timer of the program's does not fire when its time has come: it waits until its firing is the next thing in the row of
intents, outcomes and hand-offs, and its loop is at rest. What fired within one burst of a loop comes the same number of
turns apart again (`agentdbg.replay.bursts`). The timers of a lane are numbered in the order in which they were set.

A timer of which the record has no firing waits until nothing else can happen. When the record's next firing is that of
a timer that is not there, then, the order of hand-offs is let go, and timers come by their moments.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from agentdbg.recording.firings import FIRES, KNOWN, Firing
from agentdbg.recording.handoffs import CUT, state
from agentdbg.replay.clock import real_monotonic
from agentdbg.replay.thread_order import STALL_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.replay.clock import ShownTime
    from agentdbg.replay.order import CompletionOrder
    from agentdbg.replay.placing import HandOff

NUMBERED = 5
"""Parts of a note that says which of the timers of its lane fired."""
_TURNS = 64
_WORK_S = 0.02
"""So long, and so many turns, a loop that does not come to rest has after the last thing in the record."""


class Firings:
    """What is asked for a loop is asked in its thread.

    Attributes:
        active: Timers are held here until it is their turn.
        time: The time that is shown.
    """

    time: ShownTime | None = None

    def __init__(
        self,
        order: CompletionOrder,
        recorded: Sequence[HandOff],
        row: Mapping[int, HandOff],
        let_go: Callable[[str], None],
    ) -> None:
        """Prepare.

        Args:
            order: Where intents, outcomes and hand-offs stand in a row.
            recorded: All hand-offs of the record.
            row: Those that stand in the row, by place.
            let_go: Called with the reason when the order cannot be kept.
        """
        whats = {each.what for each in recorded}
        self.active = KNOWN in whats
        self._cut = CUT in whats
        self._order = order
        self._let_go = let_go
        self._places = {place: each for place, each in row.items() if each.what == FIRES}
        self._end = max(self._places, default=-1)
        self._last = {each.lane: place for place, each in self._places.items()}
        self._held: dict[int, list[Any]] = {}
        self._busy: dict[int, int] = {}
        self._class: Any = None

    def install(self) -> None:
        """From now on the program's timers are held here."""
        if self.active:
            state.timers = self

    def set_timer(
        self, loop: Any, lane: str, when: float, callback: Firing, args: tuple[Any, ...], context: Any
    ) -> Any:
        """Set a timer that fires in its recorded place; ``None`` where the record does not say when timers fire."""
        if not self._keeps():
            return None
        self._class = self._class or _held_class()
        timer = self._class(inf, callback, args, loop, context)
        timer.due, timer.lane, timer.firings, timer.place = when, lane, self, None
        timer.number = callback.number
        loop._check_closed()
        heapq.heappush(loop._scheduled, timer)
        timer._scheduled = True
        self._held.setdefault(id(loop), []).append(timer)
        self._order.here(lane)
        return timer

    def due(self, loop: Any) -> Any:
        """The timer whose turn it is, if it is one of this loop's."""
        place = self._order.at()[0]
        recorded = self._places.get(place)
        if recorded is None or not self._keeps():
            return None
        return self._of(loop, recorded.lane, place)

    def left_over(self, loop: Any) -> None:
        """Nothing else can happen: let a timer fire of which the record has no firing."""
        waiting, at = self._waiting(loop), self._order.at()[0]
        unknown = [each for each in waiting if self._last.get(each.lane, -1) < at]
        if unknown and at not in self._places:
            self.fire(min(unknown, key=_moment))
        elif waiting and not self.is_there(at):
            self._let_go("a timer did not come to its turn")

    def turns(self, loop: Any) -> None:
        """A loop that does not come to rest turns: its timer fires all the same, when the program has had its time."""
        place, since = self._order.at()
        if self._order.loops.counts(place) and real_monotonic() - since < STALL_S:
            return  # it comes after so many steps of the program
        busy = self._busy[id(loop)] = self._busy.get(id(loop), 0) + 1 if loop._ready else 0
        if busy < _TURNS or real_monotonic() - since < _WORK_S:
            return
        if (timer := self.due(loop)) is not None and not self._order.held():
            self.fire(timer)

    def holds(self, loop: Any) -> bool:
        """Whether timers of a loop wait for their turn."""
        return bool(self._waiting(loop))

    def comes(self, loop: Any, place: float, *, now: bool) -> bool:
        """Whether what has this place is the firing of a timer; ``now`` it fires, if it is there."""
        recorded = self._places.get(int(place))
        if recorded is None:
            return False
        if now and self._keeps() and (timer := self._of(loop, recorded.lane, int(place))) is not None:
            self.fire(timer)
        return True

    def is_there(self, place: int) -> bool | None:
        """Whether the timer with this place has been set by now; ``None`` for a place that is no timer's."""
        recorded = self._places.get(place)
        if recorded is None:
            return None
        return any(each.lane == recorded.lane for timers in self._held.values() for each in timers if _waits(each))

    def bring(self, loop: Any, place: int) -> None:
        """Let the timer with this place fire, ahead of what its loop has in its queue."""
        recorded = self._places.get(place)
        if recorded is not None and self._keeps() and (timer := self._of(loop, recorded.lane, place)) is not None:
            self._take_out(timer)
            timer._run()

    def fire(self, timer: Any) -> None:
        """Let a timer's loop call it now."""
        self._take_out(timer)
        timer._loop._ready.append(timer)

    def _take_out(self, timer: Any) -> None:
        """The timer does not wait any more."""
        loop = timer._loop
        if self.time is not None:
            self.time.to(timer.due)
        left = [each for each in loop._scheduled if each is not timer]
        loop._scheduled[:] = left
        heapq.heapify(loop._scheduled)
        timer._scheduled = False

    def runs(self, timer: Any) -> None:
        """A timer's callback is about to be called."""
        if timer.place is not None:
            timer._callback.value = self._places[timer.place].value
            self._order.take(timer.place)

    def _of(self, loop: Any, lane: str, place: int) -> Any:
        noted = self._places[place].value
        number = noted[-1] if isinstance(noted, list) and len(noted) == NUMBERED else None
        there = [each for each in self._waiting(loop) if each.lane == lane]
        found = min((each for each in there if number in (None, each.number)), key=_moment, default=None)
        if found is not None:
            found.place = place
        return found

    def _waiting(self, loop: Any) -> list[Any]:
        """The timers of a loop that wait; when the order is let go they are timers as all others."""
        waiting = [each for each in self._held.get(id(loop), ()) if each._loop is loop and _waits(each)]
        self._held[id(loop)] = waiting
        if waiting and not self._keeps():
            for each in waiting:
                each._when = each.due
            heapq.heapify(loop._scheduled)
            waiting = self._held[id(loop)] = []
        return waiting

    def _keeps(self) -> bool:
        """Whether the order is kept to still."""
        if self._cut and self._order.at()[0] > self._end:
            self.active = False
        return self.active and not self._order.is_over()


def _moment(timer: Any) -> float:
    return float(timer.due)


def _waits(timer: Any) -> bool:
    return timer._scheduled is True and not timer._cancelled


def _held_class() -> Any:
    from asyncio import TimerHandle

    class HeldTimer(TimerHandle):
        """A timer whose time does not come by itself."""

        __slots__ = ("due", "firings", "lane", "number", "place")
        due: float
        firings: Firings

        def when(self) -> float:
            return self.due

        def _run(self) -> None:
            self.firings.runs(self)
            super()._run()  # what a loop calls

    return HeldTimer
