"""Approvals of openai-agents: a person approves or rejects a tool call of an interrupted run, which then goes on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from agentdbg.recording.frameworks import approvals
from agentdbg.recording.frameworks.approvals import WaitingCall
from agentdbg.recording.frameworks.openai_agents_tools import parsed
from agentdbg.recording.frameworks.patches import guarded, replace_method


def install(state: Any) -> None:
    """Patch ``RunState``."""
    for method, decision in (("approve", "approved"), ("reject", "rejected")):
        replace_method(state, method, functools.partial(_deciding, decision))


def _deciding(decision: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def decide(self: Any, approval_item: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(self, approval_item, *args, **kwargs)
        always = bool(args[0] if args else kwargs.get("always_approve") or kwargs.get("always_reject"))
        guarded(lambda: approvals.decide(_waiting(approval_item), decision, always=always))
        return found

    return decide


def interrupted(result: Any) -> list[WaitingCall]:
    """The calls that wait for a decision when a run has ended."""
    return [_waiting(item) for item in getattr(result, "interruptions", None) or ()]


def resumed(state: Any) -> list[WaitingCall]:
    """The interrupted calls that a run state goes on with."""
    find = getattr(state, "get_interruptions", None)
    return [_waiting(item) for item in find()] if find is not None else []


def _waiting(item: Any) -> WaitingCall:
    raw = getattr(item, "raw_item", None)
    get: Callable[[str], Any] = raw.get if isinstance(raw, dict) else functools.partial(_attribute, raw)
    return WaitingCall(
        str(getattr(item, "tool_name", None) or get("name")),
        parsed(get("arguments")),
        str(get("call_id") or get("id")),
        getattr(getattr(item, "agent", None), "name", None),
    )


def _attribute(raw: object, name: str) -> Any:
    return getattr(raw, name, None)
