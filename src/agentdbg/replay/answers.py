"""Answers an exact replay's calls from a cassette: default deny, in recorded completion order, a divergence latched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, cast

from agentdbg.model.canonical import loads
from agentdbg.model.records import Json, StepStatus
from agentdbg.recording.calls import Call, ReplayStop, Served
from agentdbg.recording.handoffs import CUT
from agentdbg.replay.by_hand import NOT_MADE, NotFromPdb, by_hand
from agentdbg.replay.cassette import Cassette, RecordedCall
from agentdbg.replay.clock import ShownTime
from agentdbg.replay.control import Expected, Gatekeeper
from agentdbg.replay.firings import Firings
from agentdbg.replay.handoffs import HandOffOrder, in_one_row
from agentdbg.replay.order import NEVER, CompletionOrder
from agentdbg.replay.settling import SETTLE_S
from agentdbg.replay.timers import Timers

if TYPE_CHECKING:
    from agentdbg.replay.kin import Others


class Diverged(ReplayStop):
    """The program asks for something that the record does not have."""


class RecordEnds(ReplayStop):
    """The record stops here: the recorded process died inside this call, or before it."""


class ExactAnswers:
    """Thread-safe. ``tell`` gets one message for each thing that the parent has to know."""

    nested = False

    def __init__(self, cassette: Cassette, tell: Callable[[dict[str, object]], None]) -> None:
        self._tell = tell
        self._stop: ReplayStop | None = None
        cassette, handoffs = in_one_row(cassette)
        self._order = CompletionOrder(cassette.calls, self.stopped, handoffs)
        cut = any(each.what == CUT for each in cassette.handoffs)
        self._handoffs = HandOffOrder(self._order, handoffs, cut=cut)
        self._order.firings = self._firings = Firings(self._order, cassette.handoffs, handoffs, self._handoffs.let_go)
        self._cassette = cassette
        self._changed = self._order.changed
        self._waiting: dict[str, list[RecordedCall]] = defaultdict(list)
        for call in reversed(cassette.calls):
            self._waiting[call.fingerprint].append(call)
        self._matched: dict[str, RecordedCall] = {}
        self._by_recorded: dict[str, RecordedCall] = {}
        self._homes: dict[str, str] = {}
        self.gate: Gatekeeper | None = None

    # -- the Answerer protocol --------------------------------------------------------------------

    def answer(self, call: Call) -> Served | None:
        """Serve a call from a thread; one that never ended while recording waits until the replay is over."""
        if self.gate is not None:
            self.gate.before(call, self._expects(call))
        recorded = self._match(call)
        if recorded is None or recorded.ended is None:
            self._order.wait(self._behind(), SETTLE_S)
            raise self._over(call, recorded)
        if not (call.pieces or _in_pieces(recorded)):
            self._order.wait(recorded.ended, recorded.gap)
        return self._served(recorded)

    async def answer_async(self, call: Call) -> Served | None:
        """Serve a call from a task; a call that was cancelled while recording waits to be cancelled again."""
        if self.gate is not None:
            await self.gate.before_async(call, self._expects(call))
        recorded = self._match(call)
        if recorded is None or recorded.ended is None:
            await self._order.wait_async(self._behind(), SETTLE_S, yields=True)
            raise self._over(call, recorded)
        if not (call.pieces or _in_pieces(recorded)):
            await self._come(recorded, yields=recorded.yields)
        return self._served(recorded)

    def turn(self, served: Served) -> None:
        """Hold back the end of a served stream until its turn."""
        recorded = self._by_recorded.get(served.step)
        if recorded is not None and recorded.ended is not None:
            self._order.wait(recorded.ended, recorded.gap)

    async def turn_async(self, served: Served) -> None:
        """The same, suspending the task; the end of a stream that was cancelled never comes."""
        recorded = self._by_recorded.get(served.step)
        if recorded is not None and recorded.ended is not None:
            await self._come(recorded)

    async def _come(self, recorded: RecordedCall, *, yields: bool = False) -> None:
        """Suspend the task until an outcome's turn; a call that was cancelled ends where it ended, once it is again."""
        from asyncio import CancelledError  # loaded with the loop that runs

        place = _turn_of(recorded)
        try:
            await self._order.wait_async(place, recorded.gap, yields=yields)
        except CancelledError:
            if place == NEVER and recorded.ended is not None and self._stop is None:
                await self._order.wait_async(recorded.ended)
            raise

    def finished(self, call: Call, status: StepStatus) -> None:
        """An outcome is in the replay's record: the next one in order may be released."""
        recorded = self._matched.get(call.step)
        if recorded is not None and recorded.ended is not None:
            self._order.take(recorded.ended)

    def stopped(self) -> ReplayStop | None:
        """Why the replay is over, if it is; what a person types in pdb is never made."""
        return NotFromPdb(NOT_MADE) if by_hand() else self._stop

    def diverge(self, call: Call, reason: str) -> ReplayStop:
        """Latch a divergence and tell the parent."""
        stop = Diverged(f"{call.kind.value} {call.name}: {reason}")
        return self.latch(stop, {"event": "diverged", "step": call.step, "reason": reason, "name": call.name})

    def keep_time(self, time: ShownTime) -> Timers:
        """From now on timers of event loops and sleeps come in one order with the recorded outcomes."""
        self._order.timers = timers = Timers(time, self._order.held)
        time.until(self._cassette.began)
        timers.install()
        if self._cassette.handoffs:
            self._handoffs.install()
            timers.firings = self._firings
            self._firings.time = time
        self._order.loops.install()
        return timers

    def begins(self) -> None:
        """The recorded run begins."""
        if self._order.timers is not None:
            self._order.timers.begins(min((call.asked_at for call in self._cassette.calls), default=inf))

    @property
    def timers(self) -> Timers:
        """What ``keep_time`` gave."""
        assert self._order.timers is not None
        return self._order.timers

    @property
    def cassette(self) -> Cassette:
        """Where the answers come from."""
        return self._cassette

    def share(self, others: Others) -> None:
        """Other processes take part too."""
        self._order.others = others
        self.timers.others = others

    # -- for the child ----------------------------------------------------------------------------

    def hold(self, more: int) -> None:
        """A person holds so many more calls, or fewer."""
        self._order.hold(more)

    def latch(self, stop: ReplayStop, message: dict[str, object]) -> ReplayStop:
        """End the replay once: every later seam raises again; returns what to raise."""
        with self._changed:
            if self._stop is not None:
                return self._stop
            self._stop = stop
        self._order.wake_all()
        if self.gate is not None:
            self.gate.release_all()
        self._tell(message)
        return stop

    def left(self) -> int:
        """How many recorded intents and outcomes the program has not come to yet."""
        return self._order.left()

    def report(self) -> dict[str, object]:
        """Counts for the outcome."""
        served = len(self._matched)
        found = {"served": served, "unconsumed": len(self._cassette.calls) - served, "order_lost": self._order.lost}
        return {**found, "handoffs_lost": self._handoffs.lost}

    # -- matching ---------------------------------------------------------------------------------

    def _expects(self, call: Call) -> Expected:
        """What the record says of a call that is not matched yet."""
        with self._changed:
            if self._stop is not None:
                raise self._stop
            waiting = self._waiting.get(call.fingerprint)
            if not waiting:
                ends = self._cassette.ends_early and not self._expected(self._homes.get(call.lane, call.lane))
                return Expected(problem="" if ends else _problem(known=waiting is not None))
            recorded = waiting[self._choice(waiting, call.lane)]
        return Expected(
            recorded=recorded.step,
            order=_turn_of(recorded),
            failed=recorded.error is not None,
            blocks=bool(recorded.turn) and not recorded.yields,
        )

    def _match(self, call: Call) -> RecordedCall | None:
        """The recorded call that this one is; ``None`` when it lies behind the end of a record that breaks off."""
        with self._changed:
            recorded = self._take_match(call)
            if recorded is not None:
                self._order.asked(recorded)
            return recorded

    def _take_match(self, call: Call) -> RecordedCall | None:
        if self._stop is not None:
            raise self._stop
        waiting = self._waiting.get(call.fingerprint)
        if not waiting:
            self._not_there(call, known=waiting is not None)
            return None
        recorded = self._choose(waiting, call.lane)
        self._homes[call.lane] = recorded.lane
        self._matched[call.step] = self._by_recorded[recorded.step] = recorded
        return recorded

    def _choose(self, waiting: list[RecordedCall], lane: str) -> RecordedCall:
        """Take one of several outcomes of the same call: the same lane's earliest, else the earliest of all."""
        return waiting.pop(self._choice(waiting, lane))

    def _choice(self, waiting: list[RecordedCall], lane: str) -> int:
        """Place of the one that is taken next."""
        last = len(waiting) - 1
        if not last or waiting[last].lane == lane:
            return last
        for wanted in (self._homes.get(lane), lane):
            for place in range(last, -1, -1):
                if waiting[place].lane == wanted:
                    return place
        return last

    def _not_there(self, call: Call, *, known: bool) -> None:
        """Raise, unless it may be that the record only broke off before this call."""
        if self._cassette.ends_early and not self._expected(self._homes.get(call.lane, call.lane)):
            return
        raise self.diverge(call, _problem(known=known))

    def _expected(self, lane: str) -> bool:
        """Whether the record holds further calls in a lane."""
        return any(call.lane == lane for calls in self._waiting.values() for call in calls)

    def _behind(self) -> float:
        """The place of what has no recorded outcome: behind the end of a record that breaks off, else nowhere."""
        return self._order.end if self._cassette.ends_early else NEVER

    def _over(self, call: Call, recorded: RecordedCall | None) -> ReplayStop:
        """The program has done all that the record has, and waits for something behind its end."""
        stop = RecordEnds(f"the record ends at {call.kind.value} {call.name}")
        place = None if recorded is None else recorded.step
        return self.latch(stop, {"event": "record_ends", "step": call.step, "recorded": place})

    def _served(self, recorded: RecordedCall) -> Served:
        return outcome_of(self._cassette, recorded)


def outcome_of(cassette: Cassette, recorded: RecordedCall) -> Served:
    """A recorded outcome as the agent's side takes it."""
    bodies = cassette.bodies
    error: dict[str, Json] | None = None
    if recorded.error is not None:
        error = dict(recorded.error)
        for part in ("args", "state"):
            key = error.pop(f"{part}_body", None)
            if isinstance(key, str) and key in bodies:
                error[part] = cast(Json, loads(bodies[key]))
    return Served(
        step=recorded.step,
        status=StepStatus(recorded.status),
        result=bodies[recorded.result] if recorded.result is not None else None,
        error=error,
        attrs=recorded.attrs,
        stream=tuple(bodies[key] for key in recorded.stream),
        turn=recorded.turn,
    )


def _problem(*, known: bool) -> str:
    return "asked more often than recorded" if known else "not in the record"


def _turn_of(recorded: RecordedCall) -> float:
    """The place of an outcome; that of a cancelled call never comes by itself."""
    return NEVER if recorded.ended is None or recorded.status == StepStatus.CANCELLED.value else recorded.ended


def _in_pieces(recorded: RecordedCall) -> bool:
    """A response whose head comes before its body: the seam holds back the end of the body until its turn."""
    return bool(recorded.stream) or "http_status" in recorded.attrs
