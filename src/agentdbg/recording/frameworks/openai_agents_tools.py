"""Function tools of openai-agents: one step for each call, whichever way a version invokes them.

A tool that is an agent is none: the nested run is a step by itself. Hosted tools are run by the provider.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any

from agentdbg.model.canonical import Opaque
from agentdbg.recording import drive
from agentdbg.recording.calls import CallRefused
from agentdbg.recording.framework_calls import FrameworkTool, ToolDescription
from agentdbg.recording.frameworks import approvals
from agentdbg.recording.frameworks.mcp_annotations import effect_by
from agentdbg.recording.frameworks.patches import MARK, missing, replace_function, replace_method
from agentdbg.recording.hooks import on_import
from agentdbg.recording.revive import freeze, thaw

_SEAMS = ("_invoke_function_tool_with_metadata", "invoke_function_tool")


def install(module: ModuleType) -> None:
    """Patch ``agents.tool``. Idempotent."""
    for name in _SEAMS:
        codec = InvocationCodec(module) if name == _SEAMS[0] else None
        opener = FrameworkTool(_described, codec)
        if replace_function(module, name, "agents", functools.partial(_invoking, module, opener)):
            return
    tool = getattr(module, "FunctionTool", None)
    if tool is None:
        missing("openai-agents", "FunctionTool")
    else:
        replace_method(tool, "__post_init__" if hasattr(tool, "__post_init__") else "__init__", _initialising)
        on_import("agents._run_impl", _install_execution)


def _invoking(module: ModuleType, opener: FrameworkTool, original: Any) -> Any:
    """A call that a replay refuses is a failure of the tool, which the tool says in its own words, if it does."""
    call = drive.coroutine(opener, original)

    async def invoke(*args: Any, **kwargs: Any) -> Any:
        try:
            return await call(*args, **kwargs)
        except CallRefused as refusal:
            in_words = getattr(module, "maybe_invoke_function_tool_failure_error_function", None)
            tool, context = kwargs.get("function_tool"), kwargs.get("context")
            said = None if in_words is None else await in_words(function_tool=tool, context=context, error=refusal)
            if said is None:
                raise
            if original.__name__ != _SEAMS[0]:
                return said
            own_words = module._consume_function_tool_default_failure(context)
            return module._FunctionToolInvocationResult(said, is_sdk_generated_error=own_words)

    return invoke


def _install_execution(module: ModuleType) -> None:
    replace_method(module.RunImpl, "execute_function_tool_calls", _executing)


def _initialising(original: Any) -> Any:
    """Versions without a common way into tools: each tool's own function is wrapped when the tool is made."""

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _wrap_tool(self)

    return initialise


def _executing(original: Any) -> Any:
    """Tools that were made before the patch are wrapped when they are to be run."""

    async def execute(*args: Any, **kwargs: Any) -> Any:
        runs: Iterable[Any] = kwargs.get("tool_runs") or ()
        for run in runs:
            _wrap_tool(getattr(run, "function_tool", None))
        return await original(*args, **kwargs)

    return execute


def _wrap_tool(tool: Any) -> None:
    invoke = getattr(tool, "on_invoke_tool", None)
    if invoke is not None and not hasattr(invoke, MARK):
        wrapped = drive.coroutine(FrameworkTool(functools.partial(_described_call, tool)), invoke)
        setattr(wrapped, MARK, True)
        tool.on_invoke_tool = wrapped


def _described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription | None:
    return describe(kwargs["function_tool"], kwargs.get("context"), kwargs.get("arguments"))


def _described_call(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription | None:
    context, arguments = (*args, kwargs.get("ctx"), kwargs.get("input"))[:2]
    return describe(tool, context, arguments)


def describe(tool: Any, context: Any, arguments: Any) -> ToolDescription | None:
    """What one call is; ``None`` for a tool that is an agent."""
    if _is_agent(tool):
        return None
    name = str(getattr(context, "tool_name", None) or tool.name)
    given = parsed(arguments)
    call_id = getattr(context, "tool_call_id", None)
    attrs: dict[str, object] = {}
    if call_id:
        attrs["call_id"] = str(call_id)
        approved = approvals.as_approved(str(call_id), given)
        if approved is not None:
            attrs["as_approved"] = approved
    return ToolDescription(name, given, effect_by(getattr(tool, "_mcp_annotations", None)), attrs)


def _is_agent(tool: Any) -> bool:
    """Whether a tool is an agent. Old versions do not say; there its function comes out of ``Agent.as_tool``."""
    known = getattr(tool, "_is_agent_tool", None)
    return _comes_from_agent(tool.on_invoke_tool, 4) if known is None else bool(known)


def _comes_from_agent(function: Any, depth: int) -> bool:
    if (
        str(getattr(function, "__qualname__", "")).startswith("Agent.as_tool.")
        and function.__module__ == "agents.agent"
    ):
        return True
    cells = getattr(function, "__closure__", None) or ()
    held = [cell.cell_contents for cell in cells if depth and _is_filled(cell)]
    return any(_comes_from_agent(each, depth - 1) for each in held if isinstance(each, FunctionType))


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def parsed(arguments: Any) -> Mapping[str, Any]:
    """A tool's arguments as the model wrote them."""
    try:
        found = json.loads(arguments or "{}") if isinstance(arguments, str | None) else arguments
    except ValueError:
        found = arguments
    return found if isinstance(found, dict) else {"input": found}


class InvocationCodec:
    """What a tool's invocation returns: its output, wrapped together with who made it."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def freeze(self, value: Any) -> object:
        """The output alone, unless the framework made it up for a failed call."""
        generated = getattr(value, "is_sdk_generated_error", None)
        return freeze(value.output if generated is False else value)

    def thaw(self, frozen: Any) -> Any:
        """The output, wrapped again."""
        made = thaw(frozen)
        wrapper: Any = vars(self._module).get("_FunctionToolInvocationResult")
        is_whole = isinstance(frozen, Opaque) and isinstance(made, wrapper)
        return made if is_whole else wrapper(made)
