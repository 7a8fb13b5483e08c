"""Approvals of openai-agents: a person approves or rejects a tool call of an interrupted run, which then goes on.

The decision is a step: of the run that it is made in, or of the run that goes on with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentdbg.recording import notes
from agentdbg.recording import scope as scopes
from agentdbg.recording.frameworks.patches import replace_method

MOST = 1000
"""Interrupted calls that are remembered, so that what goes on with them can say so."""
_interrupted: dict[str, str] = {}
_decisions: dict[str, Decision] = {}


@dataclass(slots=True)
class Decision:
    """One decision about one tool call.

    Attributes:
        about: Tool, arguments and call id as they were shown to the person.
        decision: ``approved`` or ``rejected``.
        always: It holds for later calls too.
        noted: It is a step of some run already.
    """

    about: Mapping[str, Any]
    decision: str
    always: bool
    noted: bool = False


def install(state: Any) -> None:
    """Patch ``RunState``, where a version has it."""
    for method, decision in (("approve", "approved"), ("reject", "rejected")):
        replace_method(state, method, _deciding(decision))


def _deciding(decision: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def decide(self: Any, approval_item: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(self, approval_item, *args, **kwargs)
            always = bool(args[0] if args else kwargs.get("always_approve") or kwargs.get("always_reject"))
            _decided(approval_item, decision, always)
            return found

        return decide

    return wrap


def _decided(item: Any, decision: str, always: bool) -> None:
    about = described(item)
    call_id = str(about.get("call_id"))
    made = Decision(about, decision, always)
    _remember(_decisions, call_id, made)
    if scopes.current() is not None:
        note(made)


def note(made: Decision) -> None:
    """Make a decision a step of the current run."""
    if made.noted:
        return
    made.noted = True
    tool = str(made.about.get("tool"))
    allowed = "every call of this tool" if made.always else "this call"
    notes.approval(
        f"run {tool}?", decision=made.decision, state={**made.about, "decision": made.decision}, allowed=allowed
    )


def described(item: Any) -> dict[str, Any]:
    """The tool call that waits for an approval."""
    from agentdbg.recording.frameworks.openai_agents_tools import parsed

    raw = getattr(item, "raw_item", None)
    get: Callable[[str], Any] = raw.get if isinstance(raw, dict) else functools.partial(_attribute, raw)
    arguments = get("arguments")
    return {
        "tool": getattr(item, "tool_name", None) or get("name"),
        "arguments": parsed(arguments),
        "call_id": get("call_id") or get("id"),
        "agent": getattr(getattr(item, "agent", None), "name", None),
    }


def _attribute(raw: object, name: str) -> Any:
    return getattr(raw, name, None)


def interrupted(result: Any) -> list[dict[str, Any]]:
    """The calls that a run's result says to wait for approval."""
    return [described(item) for item in getattr(result, "interruptions", None) or ()]


def remember_run(calls: list[dict[str, Any]], run_id: str) -> None:
    """These calls were interrupted in that run."""
    for call in calls:
        _remember(_interrupted, str(call.get("call_id")), run_id)


def resumed(state: Any) -> list[dict[str, Any]]:
    """The interrupted calls that a run state goes on with."""
    find = getattr(state, "get_interruptions", None)
    return [described(item) for item in find()] if find is not None else []


def run_of(calls: list[dict[str, Any]]) -> str | None:
    """The run in which the first of these calls was interrupted."""
    found = (_interrupted.get(str(call.get("call_id"))) for call in calls)
    return next((run for run in found if run is not None), None)


def note_decisions(calls: list[dict[str, Any]]) -> None:
    """Make the decisions about these calls steps of the run that goes on with them."""
    for call in calls:
        made = _decisions.get(str(call.get("call_id")))
        if made is not None:
            note(made)


def approved_arguments(call_id: str, arguments: Mapping[str, Any]) -> bool | None:
    """Whether a call is made with the arguments that were approved; ``None`` when nobody was asked."""
    made = _decisions.get(call_id)
    return None if made is None or made.decision != "approved" else made.about.get("arguments") == arguments


def _remember(place: dict[str, Any], key: str, value: Any) -> None:
    place.pop(key, None)
    place[key] = value
    while len(place) > MOST:
        place.pop(next(iter(place)), None)
