"""Answers a regression replay's calls: served as far as the record holds, then by the table of `policy`.

Runs in the child process, on the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from agentdbg.model.canonical import loads
from agentdbg.model.records import Effect, Json, Kind, StepStatus
from agentdbg.recording.calls import Call, CallRefused, ReplayStop, Served
from agentdbg.recording.openers import REGISTRY
from agentdbg.replay.answers import Diverged, outcome_of
from agentdbg.replay.call_ids import with_present_id
from agentdbg.replay.cassette import Cassette, RecordedCall
from agentdbg.replay.control import GO, Expected
from agentdbg.replay.doing import Ask, Decided, Doing, May, Tell, choices_for, chosen
from agentdbg.replay.free_order import FreeOrder, dense
from agentdbg.replay.look_ups import PATIENCE_S, LookUps
from agentdbg.replay.order import NEVER
from agentdbg.replay.policy import Deed, Match, Ruling, Situation, Stage, rule
from agentdbg.replay.reach import Requests
from agentdbg.replay.rearranging import shown_arguments
from agentdbg.replay.recorded_calls import RecordedCalls
from agentdbg.replay.replacing import ReplacingAnswers, is_nested

_PROBLEMS = {Deed.STOP: "the replay ends", Deed.REFUSE: "the agent gets a refusal"}


class RegressionAnswers(ReplacingAnswers):
    """Thread-safe.

    Attributes:
        live: The program has left the record: time passes.
        requests: Which requests are more than they look, or less.
    """

    nested = True

    def __init__(
        self, cassette: Cassette, tell: Tell, ask: Ask, plan: Mapping[str, Any], pins: Mapping[str, Cassette]
    ) -> None:
        """Prepare.

        Args:
            cassette: What is served, edits made.
            tell: Gets what the parent has to know.
            ask: The same, and waits for the parent's reply.
            plan: ``stage`` (``control``, ``before`` or ``prefix``), ``prefix``, ``edited`` (step ids), ``facts``,
                ``arguments`` (edits by step id), ``sandbox``, ``runs`` (ids that a derived key has in it), ``windows``
                (tell when tools may reach out), ``reads`` (patterns of requests), ``hosts`` (open to all).
            pins: By tool, the record that answers all its calls.
        """
        super().__init__(replace(cassette, handoffs=()), tell)
        self._order: FreeOrder
        self.live = False
        self._plan = plan
        self._rearranged: set[str] = set()
        self._stage = Stage(plan["stage"])
        self._prefix = frozenset(plan.get("prefix") or ())
        self._edited = frozenset(plan.get("edited") or ())
        self._sandbox = frozenset((plan.get("sandbox") or {}).get("tools") or ())
        self.requests = Requests(plan.get("hosts") or (), plan.get("reads") or ())
        calls = cassette.calls
        if self._stage is Stage.PREFIX:
            inside = {call.step: call for call in dense(calls, self._prefix)}
            calls = tuple(inside.get(call.step, call) for call in calls)
            self._order = FreeOrder(list(inside.values()), self.stopped)
        else:
            self._order = FreeOrder(calls, self.stopped)
        self._changed = self._order.changed
        self._ordered = self._prefix if self._stage is Stage.PREFIX else frozenset(call.step for call in calls)
        self._calls = RecordedCalls(calls, plan.get("facts") or {})
        self._pins = {tool: (RecordedCalls(tape.calls, {}), tape) for tool, tape in pins.items()}
        self.doing = Doing(
            tell,
            ask,
            windows=bool(plan.get("windows")),
            serve=self._serve_after_all,
            look_ups=LookUps(float(plan.get("patience") or PATIENCE_S), self.latch, self._is_held),
            decisions=_decisions(cassette),
        )
        if self._stage is Stage.PREFIX and not self._prefix:
            self._leave()

    # -- the Answerer protocol --------------------------------------------------------------------

    def answer(self, call: Call) -> Served | None:
        """Answer from a thread."""
        self._counted(call)
        while True:
            choice = GO if self.gate is None else self.gate.before(call, self._expects(call))
            if (instead := self._instead(call, choice)) is not None:
                break
        if isinstance(instead, Served):
            return instead
        call, other = instead
        decided = self._decide(call, choice.action)
        if decided.ruling.deed is Deed.SERVE:
            return self._serve(call, decided)
        made = self.doing.instead(call, decided)
        return other if made is None else made() if callable(made) else made

    async def answer_async(self, call: Call) -> Served | None:
        """Answer from a task; a dry run may be a coroutine."""
        self._counted(call)
        while True:
            choice = GO if self.gate is None else await self.gate.before_async(call, self._expects(call))
            if (instead := self._instead(call, choice)) is not None:
                break
        if isinstance(instead, Served):
            return instead
        call, other = instead
        decided = self._decide(call, choice.action)
        if decided.ruling.deed is Deed.SERVE:
            return await self._serve_async(call, decided)
        made = self.doing.instead(call, decided, awaits=True)
        return other if made is None else await self.doing.awaited(call, decided, made) if callable(made) else made

    def turn(self, served: Served) -> None:
        """Hold back the end of a served stream until its turn, while there is an order."""
        if not self._order.free and served.step in self._ordered:
            super().turn(served)

    async def turn_async(self, served: Served) -> None:
        """The same, suspending the task."""
        if not self._order.free and served.step in self._ordered:
            await super().turn_async(served)

    def finished(self, call: Call, status: StepStatus) -> None:
        """A call has ended."""
        self.doing.ended(call.step)
        recorded = self._matched.get(call.step)
        if recorded is not None and recorded.ended is not None and recorded.step in self._ordered:
            self._order.take(recorded.ended)

    def diverge(self, call: Call, reason: str) -> ReplayStop:
        """A served response is read otherwise than recorded: what came of it cannot be known."""
        return self._prefix_changed(call, reason, self._matched.get(call.step))

    # -- for the child ----------------------------------------------------------------------------

    def left(self) -> int:
        """How many recorded intents and outcomes threads may still be due."""
        return 0 if self._order.free else super().left()

    def report(self) -> dict[str, object]:
        """Counts for the outcome."""
        return {
            "served": len(self._matched),
            "unconsumed": self._calls.left(),
            "order_lost": self._order.lost,
            "live": self.live,
            "live_calls": self.doing.counts["live"],
            "dry_run": self.doing.counts["dry_run"],
            "refused": self.doing.counts["refused"],
            "unused_edits": self._calls.unserved({*self._edited, *(self._plan.get("arguments") or ())}),
        }

    def _is_held(self) -> bool:
        """Whether a person holds the program."""
        return self.gate is not None and self.gate.holding

    # -- deciding ---------------------------------------------------------------------------------

    def _counted(self, call: Call) -> None:
        if not is_nested():
            with self._changed:
                self._calls.count(call)

    def _expects(self, call: Call) -> Expected:
        """What is about to happen, for a person who may hold the call."""
        with self._changed:
            if self._stop is not None:
                raise self._stop
            decided = self._case(call)
        recorded, ruling = decided.recorded, decided.ruling
        arguments = shown_arguments(call)
        return Expected(
            recorded=None if recorded is None else recorded.step,
            order=NEVER if recorded is None or recorded.ended is None else recorded.ended,
            failed=recorded is not None and recorded.error is not None,
            problem=f"{_PROBLEMS[ruling.deed]}: {ruling.reason}" if ruling.deed in _PROBLEMS else "",
            choices=(*choices_for(decided), *(("arguments",) if arguments is not None else ())),
            arguments=arguments,
        )

    def _decide(self, call: Call, action: str = "go") -> Decided:
        with self._changed:
            if self._stop is not None:
                raise self._stop
            decided = chosen(self._case(call), action)
            deed = decided.ruling.deed
            behind = decided.case.stage is Stage.AFTER or (call.kind is Kind.MODEL and deed is Deed.LIVE)
            if behind and not decided.case.inside and not self.live:
                self._goes_on(call)
            if deed is Deed.STOP:
                raise self._stopped_at(call, decided)
            if deed is Deed.SERVE and decided.recorded is not None and decided.tape is None:
                self._took(call, decided.recorded, decided.case)
            else:
                if decided.tape is not None and decided.recorded is not None:
                    self._took_pinned(call, decided.recorded)
                self.doing.begins(call, decided)
                self._order.let_go()  # its recorded outcome will not come: nothing may wait for it
        return decided

    def _nested_case(self, call: Call) -> Decided:
        """A call from within a live tool: nothing is served, reads and models are that tool's own doing."""
        case = self._situation(call, Stage.AFTER, None, Match.NONE, inside=True)
        if call.kind is Kind.HTTP and not call.served_only:
            return Decided(self._sent_inside(call, case), case, None)
        return Decided(rule(case), case, None)

    def _sent_inside(self, call: Call, case: Situation) -> Ruling:
        """What a live tool's body sends: as far as the tool's declaration covers it, which the guard sees to too."""
        if self.doing.may() is not May.READ or case.effect is Effect.READ or self.requests.are_open(call.name):
            return Ruling(Deed.LIVE, "inside a tool that runs live")
        return Ruling(
            Deed.REFUSE, f"sent by what is declared to read; if it only reads: replay.reads = [{call.name!r}]"
        )

    def _case(self, call: Call) -> Decided:
        """What the table says of a call; nothing is changed by asking."""
        if is_nested():
            return self._nested_case(call)
        if call.name in self._pins and call.kind is Kind.TOOL:
            calls, tape = self._pins[call.name]
            recorded, match = calls.find(call, by_place=True)
            case = self._situation(call, self._now(), recorded, match, pinned=True)
            return Decided(rule(case), case, recorded, tape)
        if edited := self._edited_call(call):
            return Decided(Ruling(Deed.SERVE, "its outcome was edited"), self._situation(call, *edited), edited[1])
        stage, recorded, match = self._look(call)
        case = self._situation(call, stage, recorded, match)
        return Decided(rule(case), case, recorded)

    def _edited_call(self, call: Call) -> tuple[Stage, RecordedCall, Match] | None:
        if not self._edited or self._stage is Stage.CONTROL:
            return None
        recorded, match = self._meant(call, self._edited)
        return None if recorded is None else (self._now(), recorded, match)

    def _look(self, call: Call) -> tuple[Stage, RecordedCall | None, Match]:
        """Where the program is, and the recorded call that this one is."""
        if self._stage is Stage.CONTROL:
            return (Stage.CONTROL, *self._calls.find(call, by_place=True))
        if call.step in self._rearranged:
            return (self._now_free(), *self._calls.find(call, by_place=False))
        if self._stage is Stage.PREFIX and self._calls.left(self._prefix):
            recorded, match = self._calls.find(call, self._prefix, by_place=True)
            if recorded is not None or self._calls.left_in(call.lane, self._prefix) is not None:
                return Stage.PREFIX, recorded, match
        before = self._stage is Stage.BEFORE and not self.live
        recorded, match = self._calls.find(call, without=self._prefix, by_place=False)
        if call.kind is Kind.MODEL and (recorded is None or recorded.ended is None):
            before = False
        return (Stage.BEFORE if before else Stage.AFTER), recorded, match

    def _situation(
        self,
        call: Call,
        stage: Stage,
        recorded: RecordedCall | None,
        match: Match,
        *,
        pinned: bool = False,
        inside: bool = False,
    ) -> Situation:
        opener = REGISTRY.get(call.name) if call.kind is Kind.TOOL else None
        options = opener.options if opener is not None and call.given is not None else None
        is_read = call.kind is Kind.HTTP and self.requests.only_read(call.name)
        return Situation(
            kind=call.kind,
            effect=Effect.READ if is_read else call.effect,
            stage=stage,
            match=match,
            in_doubt=recorded is not None and recorded.ended is None,
            settles=options is not None and options.status is not None,
            dry_run=options is not None and options.dry_run is not None,
            sandboxed=call.kind is Kind.TOOL and call.name in self._sandbox,
            key_holds=self._key_holds(call),
            pinned=pinned,
            inside=inside,
            served_only=call.served_only,
        )

    def _key_holds(self, call: Call) -> bool:
        """Whether the call has its recorded key, which is not made of a run's or a step's id."""
        if call.key is None or not self._calls.has_key(call.name, call.key):
            return False
        return not any(part in call.key for part in self._plan.get("runs") or ())

    def _now_free(self) -> Stage:
        """Where a call is that was rearranged: behind nothing that has to agree."""
        return Stage.AFTER if self.live else Stage.BEFORE

    def _now(self) -> Stage:
        return Stage.AFTER if self.live else self._stage

    # -- noting -----------------------------------------------------------------------------------

    def _took(self, call: Call, recorded: RecordedCall, case: Situation) -> None:
        self._calls.take(call, recorded)
        self._matched[call.step] = self._by_recorded[recorded.step] = recorded
        self._asked_in_order(recorded)
        if case.match is Match.PLACE and case.kind is Kind.MODEL:
            self._tell({"event": "touched", "step": call.step, "recorded": recorded.step, "name": call.name})
        if case.match is Match.PLACE and self._stage is not Stage.PREFIX:
            self._order.let_go()

    def _asked_in_order(self, recorded: RecordedCall) -> None:
        if recorded.step in self._ordered:
            self._order.asked(recorded)

    def _took_pinned(self, call: Call, recorded: RecordedCall) -> None:
        """A record of another run answered: the run's own call at that place is spoken for too."""
        self._pins[call.name][0].take(call, recorded)
        own, _ = self._calls.find(call, by_place=True)
        if own is not None:
            self._calls.take(call, own)
            self._asked_in_order(own)

    def _goes_on(self, call: Call) -> None:
        """A call behind the record: of a model, or behind the cut."""
        there = self._calls.at_place(call)
        self._tell({"event": "live", "step": call.step, "recorded": None if there is None else there.step})
        self._leave()

    def _leave(self) -> None:
        self.live = True
        self._order.let_go()

    def _stopped_at(self, call: Call, decided: Decided) -> ReplayStop:
        if self._stage is Stage.CONTROL:
            stop = Diverged(f"control: {call.kind.value} {call.name} is not in the record")
            told: dict[str, object] = {
                "event": "control_ends",
                "step": call.step,
                "kind": call.kind.value,
                "name": call.name,
            }
            return self.latch(stop, told)
        expected = self._calls.left_in(call.lane, self._prefix)
        return self._prefix_changed(call, decided.ruling.reason, expected)

    def _prefix_changed(self, call: Call, reason: str, expected: RecordedCall | None) -> ReplayStop:
        stop = Diverged(f"{call.kind.value} {call.name}: {reason}")
        message: dict[str, object] = {"event": "prefix_changed", "step": call.step, "reason": reason}
        message |= {"kind": call.kind.value, "name": call.name}
        return self.latch(stop, {**message, "recorded": None if expected is None else expected.step})

    # -- serving ----------------------------------------------------------------------------------

    def _serve(self, call: Call, decided: Decided) -> Served:
        recorded = _there(decided)
        if self._is_ordered(decided) and recorded.ended is not None and not (call.pieces or _in_pieces(recorded)):
            self._order.wait(recorded.ended, recorded.gap)
        return self._outcome(call, decided)

    async def _serve_async(self, call: Call, decided: Decided) -> Served:
        recorded = _there(decided)
        if self._is_ordered(decided) and recorded.ended is not None and not (call.pieces or _in_pieces(recorded)):
            await self._order.wait_async(recorded.ended, recorded.gap, yields=recorded.yields)
        return self._outcome(call, decided)

    def _is_ordered(self, decided: Decided) -> bool:
        """Whether an outcome has its turn."""
        return not self._order.free and decided.tape is None and _there(decided).step in self._ordered

    def _outcome(self, call: Call, decided: Decided) -> Served:
        recorded = _there(decided)
        about = (self._plan.get("facts") or {}).get(recorded.step) or {}
        return with_present_id(outcome_of(decided.tape or self._cassette, recorded), call, about)

    def _serve_after_all(self, call: Call, decided: Decided) -> Served:
        """A person said no: what is recorded of the call, without a wait."""
        recorded = _there(decided)
        with self._changed:
            self._took(call, recorded, decided.case)
        return self._outcome(call, decided)


def _decisions(cassette: Cassette) -> list[Json]:
    bodies = (cassette.bodies.get(call.result or "") for call in cassette.calls if call.kind == Kind.APPROVAL.value)
    return [cast(Json, loads(body)) for body in bodies if body is not None]


def _there(decided: Decided) -> RecordedCall:
    if decided.recorded is None:
        raise CallRefused("agentdbg: nothing to serve")
    return decided.recorded


def _in_pieces(recorded: RecordedCall) -> bool:
    return bool(recorded.stream) or "http_status" in recorded.attrs
