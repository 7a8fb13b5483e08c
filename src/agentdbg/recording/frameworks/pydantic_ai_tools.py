"""Function tools of pydantic-ai: one step for each call that a toolset of functions makes.

Tools of MCP servers are recorded where the server is talked to; those that wait for approval are not called at all.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from agentdbg.recording import drive
from agentdbg.recording.framework_calls import FrameworkTool, ToolDescription
from agentdbg.recording.frameworks import approvals
from agentdbg.recording.frameworks.patches import missing, replace_method
from agentdbg.recording.openers import EFFECTS


def install(module: ModuleType) -> None:
    """Patch ``pydantic_ai.toolsets.function``. Idempotent."""
    if not replace_method(module.FunctionToolset, "call_tool", functools.partial(drive.coroutine, _TOOL)):
        missing("pydantic-ai", "FunctionToolset.call_tool")


def _described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription:
    given = dict(zip(("self", "name", "tool_args", "ctx", "tool"), args, strict=False)) | kwargs
    arguments = dict(given.get("tool_args") or {})
    attrs: dict[str, object] = {}
    call_id = getattr(given.get("ctx"), "tool_call_id", None)
    if call_id:
        attrs["call_id"] = str(call_id)
        approved = approvals.as_approved(str(call_id), arguments)
        if approved is not None:
            attrs["as_approved"] = approved
    metadata = getattr(getattr(given.get("tool"), "tool_def", None), "metadata", None)
    said = metadata.get("effect") if isinstance(metadata, dict) else None
    return ToolDescription(str(given["name"]), arguments, said if said in EFFECTS else None, attrs)


_TOOL = FrameworkTool(_described)
