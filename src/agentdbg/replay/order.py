"""Gives recorded outcomes out in the recorded order of completion, each when the program has done with the last one.

What threads handed to each other in between stands in the same order, see `agentdbg.replay.handoffs`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from math import inf
from typing import TYPE_CHECKING

from agentdbg.recording.calls import ReplayStop
from agentdbg.replay.bursts import Arriving, Burst, Sleeper, running_loop
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.clock import real_monotonic
from agentdbg.replay.placing import HandOff
from agentdbg.replay.row import Row
from agentdbg.replay.settling import Threads, can_go_on, loop_rests, may_go_on, others_at_work, settle_time

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from agentdbg.replay.firings import Firings
    from agentdbg.replay.kin import Others
    from agentdbg.replay.timers import Timers

STALL_S = 2.0
"""How long an outcome waits for its turn while nothing else happens; then the order is reported as not kept."""
MOST_WORK_S = 20.0
"""The same while another thread is at work."""
NEVER = inf
_TICK_S = 0.0005
OTHERS = 3
"""So many times longer other processes are waited for than threads are: they are farther away."""
_LOOKS = 6
"""Looks, a tick apart, after which a thread that rests is taken to wait for this one."""
_TURNS = 64
"""Turns that a loop without rest gets at least, however slow the machine is."""


class CompletionOrder:
    """Thread-safe.

    Attributes:
        changed: The lock of a replay's answers; notified whenever a place is taken.
        lost: An outcome was given out before its turn, after a wait.
        end: The place behind all others.
        given_up: Called when an outcome is lost.
        timers: What puts timers and outcomes into one order, where time is that of the record.
        firings: Where the timers fired, where the record says that.
        others: The other processes of the replay, where there can be any.
    """

    others: Others | None = None
    firings: Firings | None = None

    def __init__(
        self,
        calls: Sequence[RecordedCall],
        stopped: Callable[[], ReplayStop | None],
        handoffs: Mapping[int, HandOff] | None = None,
    ) -> None:
        """Prepare.

        Args:
            calls: What was recorded of calls; their places and those of hand-offs are one row.
            stopped: Why the replay is over, if it is.
            handoffs: By place, what threads handed to each other.
        """
        self.changed = threading.Condition(threading.RLock())
        self.lost = False
        self._calls = calls
        self._stopped = stopped
        self._row = Row(calls, handoffs or {})
        self.end = self._row.end
        self._taken = [False] * self.end
        self._cursor = 0
        self._held = 0
        self._progress = real_monotonic()
        self._sleepers: list[Sleeper] = []
        self._threads = Threads()
        self._askers: dict[str, int] = {}
        self._homes: dict[str, int] = {}
        self.timers: Timers | None = None
        self.given_up: Callable[[], None] | None = None
        self._handed: set[int] = set()
        self._bursts: dict[float, Burst] = {}
        for burst in self._row.bursts:
            self._bursts.update(dict.fromkeys(burst, Burst(burst, self._arrive, self._is_there)))

    # -- places -----------------------------------------------------------------------------------

    def asked(self, call: RecordedCall) -> None:
        """The program makes a recorded call."""
        self._askers[call.step] = threading.get_ident()
        self.here(call.lane)
        self.take(call.asked)

    def here(self, lane: str) -> None:
        """The current thread is in a lane of the record."""
        self._homes[lane] = threading.get_ident()
        self._threads.note()

    def at(self) -> tuple[int, float]:
        """The first place that has not come, and since when it is the first."""
        return self._cursor, self._progress

    def take(self, *places: int) -> None:
        """A recorded intent or outcome is in the replay's record, or a hand-off has happened."""
        if (loop := running_loop()) is not None:
            for place in places:
                if (burst := self._bursts.get(place)) is not None:
                    burst.ended(place, loop)
        with self.changed:
            before = self._cursor
            for place in places:
                self._taken[place] = True
            while self._cursor < self.end and self._taken[self._cursor]:
                self._cursor += 1
            if self.timers is not None and self._cursor > before:
                moment, after = self._row.moments[self._cursor - 1], self._row.moments[self._cursor]
                self.timers.happened(moment, after, running_loop())
            self._progress = real_monotonic()
            self.changed.notify_all()
            ready = [each for each in self._sleepers if each.place <= self._cursor and not self._comes(each)]
            for sleeper in ready:
                self._sleepers.remove(sleeper)
        for sleeper in ready:
            self._soon(sleeper)

    def hold(self, more: int) -> None:
        """A person holds so many more calls, or fewer: nobody's patience ends, and no burst goes on without them."""
        with self.changed:
            self._held += more
            self._progress = real_monotonic()
            self.changed.notify_all()

    def is_over(self) -> bool:
        """Whether something has ended the replay."""
        return self._stopped() is not None

    def held(self) -> bool:
        """Whether a person holds calls."""
        return self._held > 0

    def left(self) -> int:
        """How many recorded intents and outcomes are not in the replay's record yet."""
        return sum(not taken for place, taken in enumerate(self._taken) if place not in self._row.handed)

    def wake_all(self) -> None:
        """The replay is over: whoever waits finds out."""
        with self.changed:
            self.changed.notify_all()
            sleepers, self._sleepers = self._sleepers, []
        for sleeper in sleepers:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                sleeper.loop.call_soon_threadsafe(sleeper.wake)

    def _is_turn(self, place: float) -> bool:
        if (stop := self._stopped()) is not None:
            raise stop
        if self._cursor >= place:
            return True
        if place < self.end and self._stalls():
            self.lost = True
            if self.given_up is not None:
                self.given_up()
            return True
        return False

    def _stalls(self) -> bool:
        """Whether nothing has happened for too long, and nobody is at work either."""
        idle = real_monotonic() - self._progress
        if self._held or idle < (STALL_S / 4 if self.lost else STALL_S):
            return False
        if self.others is not None and self.others.run():
            return False
        return idle >= MOST_WORK_S or not can_go_on(others_at_work(()))

    # -- threads ----------------------------------------------------------------------------------

    def wait(self, place: float, gap: float = 0.0) -> None:
        """Block until an outcome's turn has come."""
        with self.changed:
            if self._cursor >= place and self._stopped() is None and self._threads.alone and not self._shared():
                return
            in_loop = running_loop() is not None
            while not self._is_turn(place) and not (in_loop and self._blocked_by_me(place)):
                self.changed.wait(STALL_S / 4)
            if not in_loop:
                self._let_others(place, gap)

    def _let_others(self, place: float, gap: float) -> None:
        """Let the other threads come to rest, and what is due earlier come first."""
        self._threads.await_rest(gap, self.changed.wait)
        self._await_others(gap)
        moment = self._row.moments[int(min(place, self.end))]
        if self.timers is not None and moment < inf and self.timers.anyone_before(moment):
            self.timers.wait_until(moment, STALL_S, self.changed.wait)

    def reach(self, place: int, *, after_others: bool = False) -> bool:
        """Block until a hand-off's turn has come; ``False`` if it does not come.

        Args:
            place: The hand-off's.
            after_others: It was waited for in vain: the others come to rest first.
        """
        with self.changed:
            while self._cursor < place:
                if self._stopped() is not None or self._stalls():
                    return False
                if self._is_mine(self._cursor):
                    return True  # what is to come first is up to this thread, which cannot go on meanwhile
                self.changed.wait(STALL_S / 4)
            if after_others and place < self.end and running_loop() is None:
                self._let_others(place, 0.0)
            return True

    def _is_mine(self, place: int) -> bool:
        mine = self._homes.get(self._row.lane(place)) == threading.get_ident()
        return mine or (self._row.arrives(place) and running_loop() is not None)

    def _blocked_by_me(self, place: float) -> bool:
        """Whether all that is to come first is up to tasks of this thread's own loop, which cannot go on meanwhile.

        Of a call that was not made yet it is not known who will make it; if one thread made all others, it is that one.
        """
        me = threading.get_ident()
        alone = set(self._askers.values()) == {me} and not self._shared()
        return place < self.end and all(
            alone if call.step not in self._askers else self._askers[call.step] == me
            for call in self._calls
            if call.asked < place and self._is_due(call, place)
        )

    def _shared(self) -> bool:
        """Whether other processes take part too."""
        return self.others is not None and self.others.others()

    def _await_others(self, gap: float) -> None:
        """Let the other processes do what they have to do with the last outcome."""
        others, looks = self.others, 0
        until = real_monotonic() + OTHERS * settle_time(gap)
        while others is not None and looks < 2 and others.others() and real_monotonic() < until:
            looks = 0 if others.run() else looks + 1
            self.changed.wait(_TICK_S)

    def taken(self) -> list[int]:
        """The places that are in the replay's record."""
        return [place for place, found in enumerate(self._taken) if found]

    def _is_due(self, call: RecordedCall, place: float) -> bool:
        """Whether a call's intent or outcome has to come before a place and has not."""
        ended = call.ended is not None and call.ended < place and not self._taken[call.ended]
        return ended or not self._taken[call.asked]

    # -- tasks ------------------------------------------------------------------------------------

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
                if not due:
                    self._sleepers.append(sleeper)
            if due:
                self._soon(sleeper)
            yields = False
            cancel = None if place >= self.end else self._later(loop, STALL_S / 4, lambda: self._look_again(sleeper))  # noqa: B023
            try:
                await sleeper.future
            finally:
                if cancel is not None:
                    cancel()
                with self.changed:
                    if sleeper in self._sleepers:
                        self._sleepers.remove(sleeper)

    def arrive(self, loop: AbstractEventLoop, place: float, run: Callable[[], None]) -> None:
        """Run something in its loop, which is this thread's, when its turn has come."""
        burst = self._bursts.get(place)
        if burst is not None and burst.is_due(place) and not self._held:
            run()
            return
        self._arrive_again(Arriving(place, loop, loop.create_future(), 0.0, None, run, copy_context()))

    def handed(self, place: int) -> None:
        """A thread has given a loop what has this place."""
        with self.changed:
            self._handed.add(place)
            self.changed.notify_all()

    def _is_there(self, place: int) -> bool:
        """Whether a burst can go on with a place: no thread owes what comes there or before. Waits for the threads."""
        looks = 0
        with self.changed:
            while not self._taken[place] and looks < _LOOKS:
                owes = self._owing(place)
                if owes is None:
                    fires = None if self.firings is None else self.firings.is_there(place)
                    if place not in self._row.handed or fires or any(each.place == place for each in self._sleepers):
                        return True
                    if place in self._handed or self._is_mine(self._cursor) or fires is False:
                        return False
                else:
                    looks = 0 if may_go_on(owes) else looks + 1
                if self._stopped() is not None or self._stalls():
                    return False
                self.changed.wait(STALL_S / 4 if owes is None else _TICK_S)
            return self._taken[place]

    def _owing(self, place: int) -> int | None:
        """The other thread that is known to have to do next what comes before a place, or is to give it to a loop."""
        owes = self._cursor <= place and self._cursor not in self._handed
        home = self._homes.get(self._row.giver(self._cursor)) if owes else None
        return None if home == threading.get_ident() else home

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
        if self.timers is None or not self.timers.is_coming(sleeper):
            sleeper.wake()

    def _soon(self, sleeper: Sleeper) -> None:
        loop, until = sleeper.loop, self._progress + settle_time(sleeper.gap)
        call = loop.call_soon if loop is running_loop() else loop.call_soon_threadsafe
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            call(self._release_at_rest, sleeper, until, 0)

    def _release_at_rest(self, sleeper: Sleeper, until: float, turns: int) -> None:
        """Release an outcome once the program has nothing left to do with the last one."""
        if self._stopped() is None and not sleeper.future.done():
            late, rests = real_monotonic() >= until, loop_rests(sleeper.loop)
            if not rests and not (late and turns >= _TURNS):
                sleeper.loop.call_soon(self._release_at_rest, sleeper, until, turns + 1)
                return
            if not late and not (self._threads.others_rest() and not (self.others and self.others.run())):
                self._later(sleeper.loop, _TICK_S, lambda: self._release_at_rest(sleeper, until, turns))
                return
            if rests and self.timers is not None and sleeper.place < self.end and self.timers.knows(sleeper.loop):
                place = int(sleeper.place)
                self.timers.comes(sleeper, self._row.moments[place], cancels=place + 1 in self._row.cancelled)
                return
        sleeper.wake()

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
