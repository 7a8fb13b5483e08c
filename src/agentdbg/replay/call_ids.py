"""The id under which a model asked for a tool call, in that call's served result: a live model makes up another one.

A framework's result may name the id (LangChain's ``ToolMessage`` does), and goes back to the model with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentdbg.model.json_text import json_bytes
from agentdbg.recording.calls import Call, Served


def with_present_id(served: Served, call: Call, facts: Mapping[str, Any]) -> Served:
    """The outcome with the id that the call has now.

    Args:
        served: A recorded outcome.
        call: The call that it is given to.
        facts: What is known of the recorded call; ``call_id`` is the id it had.
    """
    before, now = facts.get("call_id"), call.call_id
    if not isinstance(before, str) or not before or not now or before == now or served.result is None:
        return served
    return replace(served, result=served.result.replace(json_bytes(before), json_bytes(now)))


__all__ = ["with_present_id"]
