"""The places of a record in one row: which of them have come in the replay, and threads that wait for theirs.

What threads handed to each other in between stands in the same row, see `agentdbg.replay.handoffs`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from agentdbg.recording.calls import ReplayStop
from agentdbg.replay.bursts import running_loop
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.clock import real_monotonic
from agentdbg.replay.placing import HandOff
from agentdbg.replay.row import Row
from agentdbg.replay.settling import Threads, can_go_on, others_at_work, settle_time

if TYPE_CHECKING:
    from agentdbg.replay.kin import Others
    from agentdbg.replay.timers import Timers

STALL_S = 2.0
"""How long an outcome waits for its turn while nothing else happens; then the order is reported as not kept."""
MOST_WORK_S = 20.0
"""The same while another thread is at work."""
TICK_S = 0.0005
OTHERS = 3
"""So many times longer other processes are waited for than threads are: they are farther away."""


class ThreadOrder:
    """Thread-safe.

    Attributes:
        changed: The lock of a replay's answers; notified whenever a place is taken.
        lost: An outcome was given out before its turn, after a wait.
        end: The place behind all others.
        given_up: Called when an outcome is lost.
        timers: What puts timers and outcomes into one order, where time is that of the record.
        others: The other processes of the replay, where there can be any.
    """

    others: Others | None = None

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
        self._threads = Threads()
        self._askers: dict[str, int] = {}
        self._homes: dict[str, int] = {}
        self.timers: Timers | None = None
        self.given_up: Callable[[], None] | None = None

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

    def is_taken(self, place: int) -> bool:
        """Whether what has a place is in the replay's record."""
        return self._taken[place]

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
            self.changed.wait(TICK_S)

    def taken(self) -> list[int]:
        """The places that are in the replay's record."""
        return [place for place, found in enumerate(self._taken) if found]

    def _is_due(self, call: RecordedCall, place: float) -> bool:
        """Whether a call's intent or outcome has to come before a place and has not."""
        ended = call.ended is not None and call.ended < place and not self._taken[call.ended]
        return ended or not self._taken[call.asked]
