"""Tools of LangChain: ``BaseTool.run`` and ``arun``, which every way of calling a tool comes through."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from agentdbg.recording import drive
from agentdbg.recording import scope as scopes
from agentdbg.recording.framework_calls import FrameworkTool, ToolDescription
from agentdbg.recording.frameworks.langchain_values import CODEC
from agentdbg.recording.frameworks.patches import replace_method

INJECTED = frozenset(("runtime", "state", "store", "config", "callbacks", "run_manager"))
_SHOWN = (str, int, float, bool, type(None))


def install(module: ModuleType) -> None:
    """Patch ``langchain_core.tools.base`` and the pool that LangChain runs parallel calls in."""
    opener = FrameworkTool(_describe, CODEC)
    replace_method(module.BaseTool, "run", functools.partial(drive.function, opener))
    replace_method(module.BaseTool, "arun", functools.partial(drive.coroutine, opener))
    _patch_pool()


def _describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription:
    tool, given = args[0], args[1] if len(args) > 1 else kwargs.get("tool_input")
    call_id = kwargs.get("tool_call_id")
    attrs: dict[str, object] = {"call_id": call_id} if isinstance(call_id, str) else {}
    return ToolDescription(str(tool.name), _arguments(tool, given), None, attrs)


def _arguments(tool: Any, given: object) -> dict[str, Any]:
    """The arguments by name, as the model gave them; of what the framework put in beside them, plain facts alone."""
    if not isinstance(given, Mapping):
        return {"input": given}
    found: dict[str, Any] = {str(key): CODEC.freeze(value) for key, value in given.items()}
    doubtful = [name for name, value in found.items() if name in INJECTED or not isinstance(value, _SHOWN)]
    if doubtful:
        asked_for = _asked_for(tool)
        for name in doubtful:
            if name not in asked_for if asked_for is not None else name in INJECTED:
                del found[name]
    return found


def _asked_for(tool: Any) -> frozenset[str] | None:
    """Names of the arguments that a model is told of; ``None`` when the tool cannot say."""
    with suppress(Exception):  # the schema is made by the agent's own code
        schema = tool.tool_call_schema
        if isinstance(schema, dict):
            return frozenset(schema.get("properties", {}))
        declared = getattr(schema, "model_fields", None) or getattr(schema, "__fields__", None)
        if declared is not None:
            aliases = {getattr(each, "alias", None) or name for name, each in declared.items()}
            return frozenset(declared) | aliases
    return None


def _patch_pool() -> None:
    """Parallel calls get lanes in the order of their arguments: the pool runs each in a context copied before."""
    config: Any = sys.modules["langchain_core.runnables.config"]
    replace_method(config.ContextThreadPoolExecutor, "map", _mapped)


def _mapped(original: Any) -> Any:
    def map_in_lanes(self: object, fn: Any, *iterables: Any, **kwargs: Any) -> Any:
        here = scopes.current()
        items = list(zip(*iterables, strict=False)) if here is not None else []
        if here is None or not items:
            return original(self, fn, *iterables, **kwargs)

        def call(scope: scopes.Scope, *args: Any) -> Any:
            return scopes.carried(scope, fn)(*args)

        lanes = [here.forked() for _ in items]
        return original(self, call, lanes, *map(list, zip(*items, strict=True)), **kwargs)

    return map_in_lanes
