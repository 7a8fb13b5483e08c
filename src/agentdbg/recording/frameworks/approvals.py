"""Tool calls that wait for a person, and what was decided about them; shared by the frameworks that have such things.

A run that ends with calls that wait is *waiting*; the run that goes on with them names it and has the decisions as
its steps. What is executed afterwards says whether it is what was approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentdbg.recording import notes
from agentdbg.recording import scope as scopes

MOST = 1000
"""Calls that are remembered, so that what goes on with them can say so."""


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """One tool call that waits for a decision, as it is shown to the person.

    Attributes:
        call_id: The model's id of the call.
        agent: The agent that wants to make it, where it is known.
    """

    tool: str
    arguments: Mapping[str, Any]
    call_id: str
    agent: str | None = None

    def shown(self) -> dict[str, object]:
        """The call as it stands in a record."""
        found = {"tool": self.tool, "arguments": dict(self.arguments), "call_id": self.call_id, "agent": self.agent}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(slots=True)
class _Decision:
    call: WaitingCall
    decision: str
    always: bool
    who: str | None
    noted: bool = False


_waiting: dict[str, tuple[WaitingCall, str]] = {}
_decisions: dict[str, _Decision] = {}


def wait(calls: Iterable[WaitingCall]) -> None:
    """The current run ends with these calls undecided."""
    scope = scopes.current()
    if scope is None:
        return
    for call in calls:
        scope.run.waiting = True
        _remember(_waiting, call.call_id, (call, scope.run.run_id))


def waited(call_id: str) -> WaitingCall | None:
    """A call that is known to have waited."""
    found = _waiting.get(call_id)
    return None if found is None else found[0]


def run_of(call_ids: Iterable[str]) -> str | None:
    """The run in which the first of these calls had to wait."""
    return next((_waiting[call_id][1] for call_id in call_ids if call_id in _waiting), None)


def decide(call: WaitingCall, decision: str, *, always: bool = False, who: str | None = None) -> None:
    """A person decided about a call: a step of the current run, or of the one that goes on with the call."""
    made = _Decision(call, decision, always, who)
    _remember(_decisions, call.call_id, made)
    if scopes.current() is not None:
        _note(made)


def resume(call_ids: Iterable[str]) -> None:
    """The current run goes on with these calls: decisions that were made outside every run are its steps."""
    scope = scopes.current()
    if scope is None:
        return
    scope.run.waiting = False
    for call_id in call_ids:
        made = _decisions.get(call_id)
        if made is not None:
            _note(made)


def as_approved(call_id: str, arguments: Mapping[str, Any]) -> bool | None:
    """Whether a call is made with the arguments that were approved; ``None`` when nobody was asked."""
    made = _decisions.get(call_id)
    return None if made is None or made.decision != "approved" else made.call.arguments == arguments


def _note(made: _Decision) -> None:
    if made.noted:
        return
    made.noted = True
    allowed = "every call of this tool" if made.always else "this call"
    state = {**made.call.shown(), "decision": made.decision}
    notes.approval(f"run {made.call.tool}?", decision=made.decision, who=made.who, state=state, allowed=allowed)


def _remember(place: dict[str, Any], key: str, value: Any) -> None:
    place.pop(key, None)
    place[key] = value
    while len(place) > MOST:
        place.pop(next(iter(place)), None)
