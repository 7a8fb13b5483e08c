"""Answers an exact replay's calls from a cassette: default deny, in recorded completion order, a divergence latched."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from agentdbg.model.canonical import loads
from agentdbg.model.records import Json, StepStatus
from agentdbg.recording.calls import Call, ReplayStop, Served
from agentdbg.replay.cassette import Cassette, RecordedCall
from agentdbg.replay.clock import real_monotonic
from agentdbg.replay.settling import Threads, loop_rests, settle_time

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

STALL_S = 2.0
"""How long an outcome waits for its turn while nothing else happens; then the order is reported as not kept."""
_TICK_S = 0.0005
_NEVER = inf
_Sleeper: TypeAlias = "tuple[float, AbstractEventLoop, Future[None], float]"


class Diverged(ReplayStop):
    """The program asks for something that the record does not have."""


class RecordEnds(ReplayStop):
    """The record stops here: the recorded process died inside this call, or before it."""


class ExactAnswers:
    """Thread-safe. ``tell`` gets one message for each thing that the parent has to know."""

    def __init__(self, cassette: Cassette, tell: Callable[[dict[str, object]], None]) -> None:
        self._cassette = cassette
        self._tell = tell
        self._changed = threading.Condition(threading.RLock())
        self._waiting: dict[str, list[RecordedCall]] = defaultdict(list)
        for call in reversed(cassette.calls):
            self._waiting[call.fingerprint].append(call)
        self._order = [False] * sum(1 + (call.ended is not None) for call in cassette.calls)
        self._cursor = 0
        self._progress = real_monotonic()
        self._matched: dict[str, RecordedCall] = {}
        self._by_recorded: dict[str, RecordedCall] = {}
        self._homes: dict[str, str] = {}
        self._sleepers: list[_Sleeper] = []
        self._threads = Threads()
        self._askers: dict[str, int] = {}
        self._stop: ReplayStop | None = None
        self._order_lost = False

    # -- the Answerer protocol --------------------------------------------------------------------

    def answer(self, call: Call) -> Served | None:
        """Serve a call from a thread; one that never ended while recording waits until the replay is over."""
        recorded = self._match(call)
        if recorded is None or recorded.ended is None:
            self._wait(_NEVER)
            raise self._over()
        if not _in_pieces(recorded):
            self._wait(recorded.ended, recorded.gap)
        return self._served(recorded)

    async def answer_async(self, call: Call) -> Served | None:
        """Serve a call from a task; a call that was cancelled while recording waits to be cancelled again."""
        recorded = self._match(call)
        if recorded is None or recorded.ended is None or _is_cancelled(recorded):
            await self._wait_async(_NEVER)
            raise self._over()
        if not _in_pieces(recorded):
            await self._wait_async(recorded.ended, recorded.gap)
        return self._served(recorded)

    def turn(self, served: Served) -> None:
        """Hold back the end of a served stream until its turn."""
        recorded = self._by_recorded.get(served.step)
        if recorded is not None and recorded.ended is not None:
            self._wait(recorded.ended, recorded.gap)

    async def turn_async(self, served: Served) -> None:
        """The same, suspending the task; the end of a stream that was cancelled never comes."""
        recorded = self._by_recorded.get(served.step)
        if recorded is not None and recorded.ended is not None:
            place = _NEVER if recorded.status == StepStatus.CANCELLED.value else recorded.ended
            await self._wait_async(place, recorded.gap)

    def finished(self, call: Call, status: StepStatus) -> None:
        """An outcome is in the replay's record: the next one in order may be released."""
        recorded = self._matched.get(call.step)
        if recorded is not None and recorded.ended is not None:
            self._mark(recorded.ended)

    def stopped(self) -> ReplayStop | None:
        """Why the replay is over, if it is."""
        return self._stop

    def diverge(self, call: Call, reason: str) -> ReplayStop:
        """Latch a divergence and tell the parent."""
        stop = Diverged(f"{call.kind.value} {call.name}: {reason}")
        return self.latch(stop, {"event": "diverged", "step": call.step, "reason": reason, "name": call.name})

    # -- for the child ----------------------------------------------------------------------------

    def latch(self, stop: ReplayStop, message: dict[str, object]) -> ReplayStop:
        """End the replay once: every later seam raises again; returns what to raise."""
        with self._changed:
            if self._stop is not None:
                return self._stop
            self._stop = stop
            self._changed.notify_all()
            sleepers, self._sleepers = self._sleepers, []
        for _, loop, future, _ in sleepers:
            _soon(loop, _settle, future)
        self._tell(message)
        return stop

    def report(self) -> dict[str, object]:
        """Counts for the outcome."""
        served = len(self._matched)
        return {"served": served, "unconsumed": len(self._cassette.calls) - served, "order_lost": self._order_lost}

    # -- matching ---------------------------------------------------------------------------------

    def _match(self, call: Call) -> RecordedCall | None:
        """The recorded call that this one is; ``None`` when it lies behind the end of a record that breaks off."""
        with self._changed:
            if self._stop is not None:
                raise self._stop
            waiting = self._waiting.get(call.fingerprint)
            if not waiting:
                self._not_there(call, known=waiting is not None)
                return None
            recorded = self._choose(waiting, call.lane)
            self._homes[call.lane] = recorded.lane
            self._askers[recorded.step] = threading.get_ident()
            self._threads.note()
            self._matched[call.step] = self._by_recorded[recorded.step] = recorded
            self._mark(recorded.asked)
            if recorded.ended is None and self._cassette.ends_early and self._all_ended():
                raise self._record_ends(call, recorded.step)
            return recorded

    def _choose(self, waiting: list[RecordedCall], lane: str) -> RecordedCall:
        """Take one of several outcomes of the same call: the same lane's earliest, else the earliest of all."""
        if len(waiting) == 1 or waiting[-1].lane == lane:
            return waiting.pop()
        for wanted in (self._homes.get(lane), lane):
            for place in range(len(waiting) - 1, -1, -1):
                if waiting[place].lane == wanted:
                    return waiting.pop(place)
        return waiting.pop()

    def _not_there(self, call: Call, *, known: bool) -> None:
        """Raise, unless it may be that the record only broke off before this call."""
        if self._cassette.ends_early and not self._expected(self._homes.get(call.lane, call.lane)):
            if self._all_ended():
                raise self._record_ends(call, None)
            return
        raise self.diverge(call, "asked more often than recorded" if known else "not in the record")

    def _expected(self, lane: str) -> bool:
        """Whether the record holds further calls in a lane."""
        return any(call.lane == lane for calls in self._waiting.values() for call in calls)

    def _all_ended(self) -> bool:
        """Whether every recorded outcome has been given."""
        calls = self._cassette.calls
        return all(self._order[call.asked] and (call.ended is None or self._order[call.ended]) for call in calls)

    def _record_ends(self, call: Call, recorded: str | None) -> ReplayStop:
        stop = RecordEnds(f"the record ends at {call.kind.value} {call.name}")
        return self.latch(stop, {"event": "record_ends", "step": call.step, "recorded": recorded})

    def _served(self, recorded: RecordedCall) -> Served:
        bodies = self._cassette.bodies
        error: dict[str, Json] | None = None
        if recorded.error is not None:
            error = dict(recorded.error)
            key = error.pop("args_body", None)
            if isinstance(key, str) and key in bodies:
                error["args"] = cast(Json, loads(bodies[key]))
        return Served(
            step=recorded.step,
            status=StepStatus(recorded.status),
            result=bodies[recorded.result] if recorded.result is not None else None,
            error=error,
            attrs=recorded.attrs,
            stream=tuple(bodies[key] for key in recorded.stream),
        )

    # -- order ------------------------------------------------------------------------------------

    def _mark(self, place: int) -> None:
        with self._changed:
            self._order[place] = True
            while self._cursor < len(self._order) and self._order[self._cursor]:
                self._cursor += 1
            self._progress = real_monotonic()
            self._changed.notify_all()
            ready = [sleeper for sleeper in self._sleepers if sleeper[0] <= self._cursor] if self._sleepers else ()
            for sleeper in ready:
                self._sleepers.remove(sleeper)
            over = self._cassette.ends_early and self._cursor < len(self._order) and self._all_ended()
            now = self._progress
        for _, loop, future, gap in ready:
            _soon(loop, self._settle_at_rest, loop, future, now + settle_time(gap))
        if over and self._pending():
            self.latch(RecordEnds("the record ends here"), {"event": "record_ends", "step": None, "recorded": None})

    def _pending(self) -> bool:
        """Whether a call of the program waits behind the end of the record."""
        return any(sleeper[0] == _NEVER for sleeper in self._sleepers)

    def _over(self) -> ReplayStop:
        return self._stop or RecordEnds("the replay is over")

    def _is_turn(self, place: float) -> bool:
        if self._stop is not None:
            raise self._stop
        if self._cursor >= place:
            return True
        if place != _NEVER and real_monotonic() - self._progress >= STALL_S:
            self._order_lost = True
            return True
        return False

    def _wait(self, place: float, gap: float = 0.0) -> None:
        with self._changed:
            if self._cursor >= place and self._stop is None and self._threads.alone:
                return
            in_loop = _runs_a_loop()
            while not self._is_turn(place) and not (in_loop and self._blocked_by_me(place)):
                self._changed.wait(STALL_S / 4)
            if not in_loop:
                self._threads.await_rest(gap, self._changed.wait)

    def _blocked_by_me(self, place: float) -> bool:
        """Whether all that is to come first is up to tasks of this thread's own loop, which cannot go on meanwhile.

        Of a call that was not made yet it is not known who will make it; if one thread made all others, it is that one.
        """
        me = threading.get_ident()
        alone = set(self._askers.values()) == {me}
        return place != _NEVER and all(
            alone if call.step not in self._askers else self._askers[call.step] == me
            for call in self._cassette.calls
            if call.asked < place and self._is_due(call, place)
        )

    def _is_due(self, call: RecordedCall, place: float) -> bool:
        """Whether a call's intent or outcome has to come before a place and has not."""
        ended = call.ended is not None and call.ended < place and not self._order[call.ended]
        return ended or not self._order[call.asked]

    async def _wait_async(self, place: float, gap: float = 0.0) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        while True:
            with self._changed:
                if self._is_turn(place):
                    return
                future: Future[None] = loop.create_future()
                sleeper = (place, loop, future, gap)
                self._sleepers.append(sleeper)
            timer = None if place == _NEVER else loop.call_later(STALL_S / 4, _settle, future)
            try:
                await future
            finally:
                if timer is not None:
                    timer.cancel()
                with self._changed:
                    if sleeper in self._sleepers:
                        self._sleepers.remove(sleeper)

    def _settle_at_rest(self, loop: AbstractEventLoop, future: Future[None], until: float) -> None:
        """Release an outcome once the program has nothing left to do with the last one."""
        if self._stop is None and real_monotonic() < until and not future.done():
            if not loop_rests(loop):
                loop.call_soon(self._settle_at_rest, loop, future, until)
                return
            if not self._threads.others_rest():
                loop.call_later(_TICK_S, self._settle_at_rest, loop, future, until)
                return
        _settle(future)


def _ends_here(recorded: RecordedCall) -> bool:
    """Whether a call is over once it is answered; of a response the head comes first, and its end has its own turn."""
    return not recorded.stream and "http_status" not in recorded.attrs


def _is_cancelled(recorded: RecordedCall) -> bool:
    return recorded.status == StepStatus.CANCELLED.value and not _in_pieces(recorded)


def _in_pieces(recorded: RecordedCall) -> bool:
    """A response whose head comes before its body: the seam holds back the end of the body until its turn."""
    return bool(recorded.stream) or "http_status" in recorded.attrs


def _runs_a_loop() -> bool:
    """Whether this thread runs an event loop, without loading asyncio for the question."""
    events: Any = sys.modules.get("asyncio.events")
    return events is not None and events._get_running_loop() is not None


def _settle(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _soon(loop: AbstractEventLoop, function: Callable[..., object], *arguments: object) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(function, *arguments)
