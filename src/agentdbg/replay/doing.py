"""What a regression replay does in place of serving: bodies that run, dry runs, status look-ups, a person's answer.

Runs in the child process, on the standard library.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from agentdbg.model.canonical import loads
from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import Effect, Json, Kind, StepStatus
from agentdbg.recording import scope as scopes
from agentdbg.recording.calls import Call, CallRefused, Given, Made, Served
from agentdbg.recording.openers import REGISTRY
from agentdbg.replay.cassette import Cassette, RecordedCall
from agentdbg.replay.decisions import decision_of
from agentdbg.replay.look_ups import LookUps
from agentdbg.replay.policy import RUNS, Deed, Ruling, Situation, otherwise, rule

LONGEST_EDIT = 64 * 1024


class May(IntEnum):
    """What the running code may do over the network, beside the hosts that are open to all.

    ``READ`` is the body of a declared read, or its look-up: requests that change nothing. ``SEND`` is a dry run: it
    stands in for a write, and is believed.
    """

    NOTHING = 0
    READ = 1
    SEND = 2


Tell = Callable[[dict[str, object]], None]
Stop = Callable[[str, str], None]
"""Stops the running code for an effect, given as the guard names it."""
Ask = Callable[[dict[str, object]], Mapping[str, Any]]
_COUNTED = {Deed.LIVE: "live", Deed.CHECKED: "live", Deed.DRY_RUN: "dry_run", Deed.REFUSE: "refused"}


@dataclass(frozen=True, slots=True)
class Decided:
    """What happens to one call.

    Attributes:
        tape: The record that it is served from, where that is not the run's own.
    """

    ruling: Ruling
    case: Situation
    recorded: RecordedCall | None
    tape: Cassette | None = None


class Doing:
    """Thread-safe.

    Attributes:
        counts: Calls that were live, dry runs, and refused.
    """

    def __init__(
        self,
        tell: Tell,
        ask: Ask,
        *,
        windows: bool,
        serve: Callable[[Call, Decided], Served],
        look_ups: LookUps,
        decisions: Sequence[Json] = (),
    ) -> None:
        """Prepare.

        Args:
            tell: Gets what the parent has to know.
            ask: The same, and waits for the parent's reply.
            windows: Let the parent know while bodies run that may reach out.
            serve: Gives the recorded outcome of a call after all.
            look_ups: Sees to it that none hangs.
            decisions: What people decided while recording.
        """
        self.counts = dict.fromkeys(("live", "dry_run", "refused"), 0)
        self._tell, self._ask, self._serve = tell, ask, serve
        self._windows = windows
        self._decisions = decisions
        self._look_ups = look_ups
        self._lock = threading.RLock()
        self.stop: Stop = lambda event, detail: None
        self._running: dict[str, May] = {}
        self._bodies: dict[str, May] = {}
        self._open: set[str] = set()
        self._said: set[tuple[str, ...]] = set()

    # -- bodies that run --------------------------------------------------------------------------

    def begins(self, call: Call, decided: Decided) -> None:
        """A call was decided about that is not simply served from the run."""
        deed = decided.ruling.deed
        if deed in RUNS and not self._is_looked_up(decided):
            if decided.case.inside and call.kind is Kind.HTTP:
                may = self.may()  # as far as the tool around it
                if may and decided.case.effect is not Effect.READ:
                    self.note("sent", what=call.name)
            else:
                may = May.READ if deed is Deed.CHECKED else May.NOTHING
            self._runs(call, may)
        self._ruled(call, decided.ruling, decided.recorded, inside=decided.case.inside)

    def ended(self, step: str) -> None:
        """A body has come to its end."""
        self._look_ups.ended(step)
        with self._lock:
            self._bodies.pop(step, None)
            if step not in self._open:
                return
            self._open.discard(step)
            if not self._open:
                self._ask({"event": "window", "asks": "close"})

    def may(self) -> May:
        """What the running code may do beyond what is open to all."""
        here = scopes.current()
        if here is None:
            return May.NOTHING
        known = self._running.get(here.parent or "")
        if known is not None:
            return known
        return min(list(self._bodies.values()), default=May.NOTHING) if here.inside_tool else May.NOTHING

    def note(self, event: str, **about: str) -> None:
        """Tell once what the running code does over the network because it may."""
        here = scopes.current()
        step = "" if here is None else here.parent or ""
        if (said := (event, step, *about.values())) not in self._said:
            self._said.add(said)
            self._tell({"event": event, "step": step, **about})

    def _runs(self, call: Call, may: May) -> None:
        with self._lock:
            self._running[call.step] = may
            if call.kind is Kind.TOOL:
                self._bodies[call.step] = may
            if may and self._windows:
                if not self._open:
                    self._ask({"event": "window", "asks": "open"})
                self._open.add(call.step)

    def given(self, call: Call, value: Json) -> Given:
        """A person put a result in the call's place."""
        given = Given(call.step, StepStatus.OK, attrs={"edited": True}, value=loads(json_bytes(value)))
        self.edited(call, "result", value)
        return given

    def edited(self, call: Call, path: str, value: Json, *, by_edit: bool = False) -> None:
        """Tell that something of a call was replaced: by a person who held it, or by an edit."""
        here = scopes.current()
        kept = value if here is None else here.run.gate.value(value)
        if len(told := json_bytes(kept)) > LONGEST_EDIT:
            kept = f"({len(told):,} bytes)"
        about: dict[str, object] = {"event": "edited", "step": call.step, "name": call.name, "by_edit": by_edit}
        self._tell({**about, "path": path, "value": kept})

    # -- outcomes that are made -------------------------------------------------------------------

    def instead(self, call: Call, decided: Decided, *, awaits: bool = False) -> Served | None | Callable[[], Made]:
        """``None``: the call is made for real; else what it gives, or the function that makes it.

        Raises:
            CallRefused: Nothing of it is done.
        """
        deed = decided.ruling.deed
        if self._is_looked_up(decided):
            return self._maker(call, decided, "status", awaits=awaits)
        if deed in RUNS:
            return None
        if deed is Deed.DRY_RUN:
            return self._maker(call, decided, "dry_run", awaits=awaits)
        if deed is Deed.ASK:
            return self._asked(call, decided, awaits=awaits)
        if decided.case.inside and call.kind is Kind.HTTP and not call.served_only:
            self.stop("http.request", call.name)
        raise CallRefused(f"agentdbg: {call.name} is not run in a regression replay: {decided.ruling.reason}")

    async def awaited(self, call: Call, decided: Decided, make: Callable[[], Made]) -> Served:
        """What ``make`` gives, which may be a coroutine."""
        found = make()
        if inspect.isawaitable(found.value):
            with scopes.inside(_within(call)):
                try:
                    found = replace(found, value=await found.value)
                except BaseException as problem:
                    self.ended(call.step)
                    self._unsettled(call, "status" if "status" in found.attrs else "", problem)
                    raise
        self.ended(call.step)
        return self._settled(call, decided, found)

    @staticmethod
    def _is_looked_up(decided: Decided) -> bool:
        """Whether a write that is in doubt is settled by its tool's look-up."""
        case = decided.case
        return decided.ruling.deed is Deed.CHECKED and case.in_doubt and case.effect not in (Effect.NONE, Effect.READ)

    def _maker(self, call: Call, decided: Decided, what: str, *, awaits: bool) -> Callable[[], Made]:
        """A function that calls a tool's dry run or status look-up with the tool's own arguments."""
        function = getattr(REGISTRY[call.name].options, what)

        def make() -> Made:
            self._runs(call, May.SEND if what == "dry_run" else May.READ)
            if what == "status":
                self._look_ups.begins(call)
            try:
                with scopes.inside(_within(call)):
                    value = function(**(call.given or {}))
            except BaseException as problem:
                self.ended(call.step)
                self._unsettled(call, what, problem)
                raise
            made = Made(call.step, StepStatus.OK, attrs={what: True}, value=value)
            if awaits:
                return made
            self.ended(call.step)
            if inspect.isawaitable(value):
                raise CallRefused(f"agentdbg: the {what} of {call.name} is a coroutine function, the tool is not")
            return self._settled(call, decided, made)

        return make

    def _unsettled(self, call: Call, what: str, problem: BaseException) -> None:
        """A look-up that fails settles nothing, and its error is none of the tool's."""
        if what != "status" or not isinstance(problem, Exception):
            return
        ruling = Ruling(Deed.REFUSE, f"in doubt: its status look-up failed with {type(problem).__name__}")
        self._ruled(call, ruling, None)
        raise CallRefused(f"agentdbg: {call.name} is not run in a regression replay: {ruling.reason}") from problem

    def _settled(self, call: Call, decided: Decided, made: Made) -> Made:
        """A look-up that found nothing: the write was not done, and is not in the record."""
        if "status" not in made.attrs:
            return made
        self._tell({"event": "settled", "step": call.step, "name": call.name, "done": bool(made.value)})
        if made.value:
            return made
        ruling = otherwise(decided.case)
        self._ruled(call, ruling, None)
        if ruling.deed is Deed.DRY_RUN:
            return self._maker(call, decided, "dry_run", awaits=False)()
        raise CallRefused(f"agentdbg: {call.name} was not done while recording, and is not now: {ruling.reason}")

    def _asked(self, call: Call, decided: Decided, *, awaits: bool) -> Served | None | Callable[[], Made]:
        about: dict[str, object] = {"event": "question", "asks": call.kind.value, "name": call.name, "step": call.step}
        answer = self._ask({**about, "key": call.key}).get("answer")
        if call.kind is Kind.APPROVAL:
            value = decision_of(answer, self._decisions)
            return Made(call.step, StepStatus.OK, attrs={"asked_in_replay": True}, value=value)
        if answer is True:
            self._runs(call, May.NOTHING)
            self._ruled(call, Ruling(Deed.LIVE, "in the sandbox, with a person's yes"), decided.recorded)
            return None
        without = replace(decided, case=replace(decided.case, sandboxed=False))
        without = replace(without, ruling=rule(without.case))
        if without.ruling.deed is Deed.SERVE:
            return self._serve(call, without)
        self.begins(call, without)
        return self.instead(call, without, awaits=awaits)

    # -- telling ----------------------------------------------------------------------------------

    def _ruled(self, call: Call, ruling: Ruling, recorded: RecordedCall | None, *, inside: bool = False) -> None:
        """Tell; what a live tool does inside is part of that one live call."""
        deed = ruling.deed
        if deed in _COUNTED and not (inside and deed in RUNS):
            with self._lock:
                self.counts[_COUNTED[deed]] += 1
        told: dict[str, object] = {"event": "ruled", "step": call.step, "kind": call.kind.value, "name": call.name}
        told["recorded"] = None if recorded is None else recorded.step
        told["effect"] = None if call.effect is None else call.effect.value
        self._tell({**told, "deed": deed.value, "reason": ruling.reason, "inside": inside})


def choices_for(decided: Decided) -> list[str]:
    """What a person may decide of a call that is held, beside letting it go on."""
    case, there = decided.case, decided.recorded
    choices = []
    harmless = case.kind is not Kind.APPROVAL and case.effect in (Effect.NONE, Effect.READ) and not case.served_only
    if case.kind is Kind.MODEL or harmless:
        choices.append("live")
    if there is not None and there.ended is not None:
        choices.append("serve")
    if case.kind is not Kind.APPROVAL:
        choices.append("refuse")
    if case.kind in (Kind.TOOL, Kind.APPROVAL) or (there is not None and there.result is not None):
        choices.append("result")
    return choices


def chosen(decided: Decided, action: str) -> Decided:
    """What a person made of it; what was not to be chosen changes nothing."""
    if action not in choices_for(decided) or action == "result":
        return decided
    reads = decided.case.effect is Effect.READ
    deed = {"live": Deed.CHECKED if reads else Deed.LIVE, "serve": Deed.SERVE, "refuse": Deed.REFUSE}[action]
    return replace(decided, ruling=Ruling(deed, "a person decided so"))


def _within(call: Call) -> scopes.Scope | None:
    """The scope of a body that runs in the call's place."""
    here = scopes.current()
    return None if here is None else here.below(call.step, tool=True)
