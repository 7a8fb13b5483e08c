"""Gives recorded outcomes out in the recorded order of completion, each when the program has done with the last one.

What threads handed to each other in between stands in the same order, see `agentdbg.replay.handoffs`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.handoffs import Arrival
from agentdbg.recording.scope import leave, waiting_inside
from agentdbg.replay.bursts import Arriving, Burst, Sleeper, running_loop
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.clock import real_monotonic
from agentdbg.replay.loop_order import LoopOrder, release
from agentdbg.replay.placing import HandOff
from agentdbg.replay.settling import can_go_on, loop_rests, may_go_on, others_at_work, settle_time
from agentdbg.replay.thread_order import STALL_S, TICK_S, ThreadOrder

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from agentdbg.replay.firings import Firings

NEVER = inf
_LOOKS = 6
"""Looks, a tick apart, after which a thread that rests is taken to wait for this one."""
_TURNS = 64
"""Turns that a loop without rest gets at least, however slow the machine is."""


class CompletionOrder(ThreadOrder):
    """Thread-safe.

    Attributes:
        firings: Where the timers fired, where the record says that.
        loops: What comes to event loops after so many steps of the program.
    """

    firings: Firings | None = None

    def __init__(
        self,
        calls: Sequence[RecordedCall],
        stopped: Callable[[], ReplayStop | None],
        handoffs: Mapping[int, HandOff] | None = None,
    ) -> None:
        super().__init__(calls, stopped, handoffs)
        self._sleepers: list[Sleeper] = []
        self._handed: dict[int, Arrival] = {}
        self.loops = LoopOrder(self._row, self)
        self._bursts: dict[float, Burst] = {}
        for burst in self._row.bursts:
            self._bursts.update(dict.fromkeys(burst, Burst(burst, self._arrive, self._is_there)))

    def take(self, *places: int) -> None:
        """A recorded intent or outcome is in the replay's record, or a hand-off has happened."""
        if (loop := running_loop()) is not None:
            for place in places:
                self.loops.met(loop, place)
                if (burst := self._bursts.get(place)) is not None:
                    burst.ended(place, loop)
        with self.changed:
            super().take(*places)
            ready = self._ready()
        for sleeper in ready:
            self._soon(sleeper)

    def _ready(self) -> list[Sleeper]:
        """Whose turn has come; what comes to a loop after so many steps can still be let come then."""
        waiting = [each for each in self._sleepers if not each.future.done()]
        ready = [each for each in waiting if each.place <= self._cursor and not self._comes(each) and not each.soon]
        for each in ready:
            each.soon = True
        self._sleepers = [each for each in waiting if not each.soon or self.loops.counts(each.place)]
        return ready

    def wake_all(self) -> None:
        """The replay is over: whoever waits finds out."""
        super().wake_all()
        with self.changed:
            sleepers, self._sleepers = self._sleepers, []
        for sleeper in sleepers:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                sleeper.loop.call_soon_threadsafe(sleeper.wake)

    async def wait_async(self, place: float, gap: float = 0.0, *, yields: bool = False) -> None:
        """Suspend the task until an outcome's turn has come.

        Args:
            place: The outcome's.
            gap: Seconds that had passed before it.
            yields: While recording, others came to run before it, so they shall here.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        while True:
            with self.changed:
                due = self._is_turn(place)
                if due and not yields:
                    return
                sleeper = Sleeper(place, loop, loop.create_future(), gap, asyncio.current_task(loop))
                due = due and not self._comes(sleeper)
                sleeper.soon = due
                if not due or self.loops.counts(place):
                    self._sleepers.append(sleeper)
            if due:
                self._soon(sleeper)
            yields = False
            cancel = None if place >= self.end else self._later(loop, STALL_S / 4, lambda: self._look_again(sleeper))  # noqa: B023
            within = waiting_inside()
            try:
                await sleeper.future
            finally:
                leave(within)
                if cancel is not None:
                    cancel()
                with self.changed:
                    if sleeper in self._sleepers:
                        self._sleepers.remove(sleeper)

    def arrive(self, loop: AbstractEventLoop, place: float, run: Callable[[], None]) -> None:
        """Run something in its loop, which is this thread's, when its turn has come."""
        burst = self._bursts.get(place)
        if burst is not None:
            due = burst.is_due(place)
        else:
            due = self._cursor >= place and self.loops.is_due(loop, int(place))
        if due and not self._held:
            run()
            return
        self._arrive_again(Arriving(place, loop, loop.create_future(), 0.0, None, run, copy_context()))

    def handed(self, place: int, arrival: Arrival) -> None:
        """A thread gives a loop what has this place."""
        with self.changed:
            self._handed[place] = arrival
            self.changed.notify_all()

    def bring(self, loop: AbstractEventLoop, place: int) -> bool:
        """Let what has a place come now, in its loop, which is about to go on with the program. Whether it has."""
        if self._held or self._stopped() is not None or not self._is_there(place, coming=True):
            return False
        with self.changed:
            found = [each for each in self._sleepers if each.place == place and each.loop is loop]
            arrival = self._handed.get(place)
            if self._cursor < place:
                return False
            self._sleepers = [each for each in self._sleepers if each not in found]
        for sleeper in found:
            if not sleeper.future.done():
                release(loop, sleeper.future)
                if isinstance(sleeper, Arriving):
                    sleeper.context.run(sleeper.run)
        if arrival is not None and not found:
            arrival.come()
        elif self.firings is not None and not found:
            self.firings.bring(loop, place)
        return self._taken[place]

    def _is_there(self, place: int, *, coming: bool = False) -> bool:
        """Whether no thread owes what comes to a loop at a place, or before it. Waits for the threads.

        Args:
            place: Of an outcome or arrival.
            coming: What is in the loop's queue is there, too.
        """
        looks = 0
        with self.changed:
            while not self._taken[place] and looks < _LOOKS:
                owes = self._owing(place)
                if owes is None:
                    fires = None if self.firings is None else self.firings.is_there(place)
                    if place not in self._row.handed or fires or any(each.place == place for each in self._sleepers):
                        return True
                    if place in self._handed or self._is_mine(self._cursor) or fires is False:
                        return coming
                else:
                    looks = 0 if self._goes_on(owes) else looks + 1
                if self._stopped() is not None or self._stalls():
                    return False
                self.changed.wait(STALL_S / 4 if owes is None else TICK_S)
            return self._taken[place]

    def _owing(self, place: int) -> int | None:
        """The other thread that has to do next what comes before a place, or is to give it to a loop; 0: a new one."""
        if self._cursor > place or self._cursor in self._handed:
            return None
        home = self._homes.get(self._row.giver(self._cursor))
        if home is None and self._row.in_thread(self._cursor):
            return 0
        return None if home == threading.get_ident() else home

    def _goes_on(self, thread: int) -> bool:
        """Whether a thread, or any for 0, may do something without this one."""
        if not thread:
            return can_go_on(others_at_work(()))
        return may_go_on(thread) or (self.timers is not None and self.timers.is_waiting(thread))

    def _arrive_again(self, sleeper: Arriving) -> None:
        """Put it into the row, and look now and then whether it has waited for too long."""
        if sleeper.future.done():
            return
        with self.changed:
            known = sleeper in self._sleepers or (self.timers is not None and self.timers.is_coming(sleeper))
            due = self._stopped() is not None or sleeper.place <= self._cursor or self._stalls()
            if due and sleeper in self._sleepers and not self._comes(sleeper):
                self._sleepers.remove(sleeper)
                known = False
            if not due and not known:
                self._sleepers.append(sleeper)
        if due and not known:
            self._soon(sleeper)
        self._later(sleeper.loop, STALL_S / 4, lambda: self._arrive_again(sleeper))

    def _later(self, loop: AbstractEventLoop, seconds: float, call: Callable[[], object]) -> Callable[[], object]:
        """Call in so many real seconds; returns what takes that back."""
        if self.timers is not None and self.timers.knows(loop):
            return self.timers.later(loop, seconds, call)
        return loop.call_later(seconds, call).cancel

    def _look_again(self, sleeper: Sleeper) -> None:
        """Nothing may come any more: let the task look whether it has waited for too long."""
        if sleeper.soon and self.loops.counts(sleeper.place):
            return
        if self.timers is None or not self.timers.is_coming(sleeper):
            sleeper.wake()

    def _soon(self, sleeper: Sleeper) -> None:
        loop, until = sleeper.loop, self._progress + settle_time(sleeper.gap)
        call = loop.call_soon if loop is running_loop() else loop.call_soon_threadsafe
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            call(self._release_at_rest, sleeper, until, 0, context=Context())

    def _release_at_rest(self, sleeper: Sleeper, until: float, turns: int) -> None:
        """Release an outcome once the program has nothing left to do with the last one."""
        if self._stopped() is None and not sleeper.future.done():
            late, rests = real_monotonic() >= until, loop_rests(sleeper.loop)
            if not rests and not (late and turns >= _TURNS and self._comes_late(sleeper)):
                soon = partial(self._release_at_rest, sleeper, until, turns + 1)
                sleeper.loop.call_soon(soon, context=Context())
                return
            if not late and not (self._threads.others_rest() and not (self.others and self.others.run())):
                self._later(sleeper.loop, TICK_S, lambda: self._release_at_rest(sleeper, until, turns))
                return
            if rests and self.timers is not None and sleeper.place < self.end and self.timers.knows(sleeper.loop):
                place = int(sleeper.place)
                self.timers.comes(sleeper, self._row.moments[place], cancels=place + 1 in self._row.cancelled)
                return
        sleeper.wake()

    def _comes_late(self, sleeper: Sleeper) -> bool:
        """Whether what waits for the loop to rest goes on while it does not: what has a count waits for that."""
        return not self.loops.counts(sleeper.place) or self._stalls()

    def _comes(self, sleeper: Sleeper) -> bool:
        """Whether an outcome will be released by the count of its burst."""
        burst = self._bursts.get(sleeper.place)
        return burst is not None and burst.counts(sleeper.place)

    def _arrive(self, loop: AbstractEventLoop, place: float, *, at_once: bool) -> None:
        """An outcome's turn of its burst has come, or its burst has ended without it."""
        now = at_once and not self._held
        if self.firings is not None and self.firings.comes(loop, place, now=now):
            return
        with self.changed:
            waits = now or place <= self._cursor
            found = [each for each in self._sleepers if each.place == place and each.loop is loop and waits]
            for sleeper in found:
                self._sleepers.remove(sleeper)
        for sleeper in found:
            sleeper.wake() if now else self._soon(sleeper)
