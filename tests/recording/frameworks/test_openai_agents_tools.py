"""Calls of function tools as the versions of openai-agents make them; see ``test_openai_agents`` for real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agentdbg.model.canonical import dumps, loads
from agentdbg.recording.calls import CallRefused
from agentdbg.recording.frameworks.openai_agents_tools import InvocationCodec, describe, install, parsed


async def run_agent(context: Any, arguments: str) -> str:
    return arguments


run_agent.__module__, run_agent.__qualname__ = "agents.agent", "Agent.as_tool.<locals>.run_agent"


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    async def invoke(context: Any, arguments: str) -> Any:
        return await function(context, arguments)

    return invoke


async def plain(context: Any, arguments: str) -> str:
    return arguments


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (None, {}),
        ("[1]", {"input": [1]}),
        ("{broken", {"input": "{broken"}),
    ],
)
def test_arguments_are_kept_however_the_model_wrote_them(text: Any, arguments: Any) -> None:
    assert parsed(text) == arguments


def test_a_tool_that_is_an_agent_is_none() -> None:
    assert describe(SimpleNamespace(name="ask", on_invoke_tool=plain, _is_agent_tool=True), None, "{}") is None
    old = SimpleNamespace(name="ask", on_invoke_tool=wrapped(wrapped(run_agent)))
    assert describe(old, None, "{}") is None
    assert describe(SimpleNamespace(name="ask", on_invoke_tool=wrapped(wrapped(plain))), None, "{}") is not None


def test_the_call_id_and_a_servers_annotations_are_kept() -> None:
    annotations = SimpleNamespace(readOnlyHint=True)
    tool = SimpleNamespace(name="tool", on_invoke_tool=plain, _is_agent_tool=False, _mcp_annotations=annotations)
    found = describe(tool, SimpleNamespace(tool_name="other", tool_call_id="call_1"), '{"a": 1}')
    assert found is not None
    assert (found.name, found.arguments, found.effect, found.attrs) == (
        "other",
        {"a": 1},
        "read",
        {"call_id": "call_1"},
    )


@dataclass(frozen=True)
class _FunctionToolInvocationResult:
    output: Any
    is_sdk_generated_error: bool = False


def test_what_an_invocation_returns_is_written_down_as_the_tools_output() -> None:
    module = ModuleType("agents.tool")
    vars(module)["_FunctionToolInvocationResult"] = _FunctionToolInvocationResult
    codec = InvocationCodec(module)
    plain_result = _FunctionToolInvocationResult({"a": 1})
    assert codec.freeze(plain_result) == {"a": 1}
    for result in (plain_result, _FunctionToolInvocationResult("it failed", True), _FunctionToolInvocationResult(None)):
        assert codec.thaw(loads(dumps(codec.freeze(result)))) == result


@pytest.mark.parametrize("says", ["no refund", None])
@pytest.mark.parametrize("name", ["_invoke_function_tool_with_metadata", "invoke_function_tool"])
async def test_a_call_that_a_replay_refuses_fails_as_the_tool_says(says: str | None, name: str) -> None:
    module = ModuleType("agents.tool")

    async def invoke(*, function_tool: Any, context: Any, arguments: str) -> Any:
        raise CallRefused(arguments)

    async def in_words(*, function_tool: Any, context: Any, error: Exception) -> str | None:
        return says and f"{says}: {error}"

    invoke.__name__ = name
    vars(module).update({name: invoke, "maybe_invoke_function_tool_failure_error_function": in_words})
    vars(module)["_FunctionToolInvocationResult"] = _FunctionToolInvocationResult
    vars(module)["_consume_function_tool_default_failure"] = lambda context: True
    install(module)
    call = vars(module)[name](function_tool=SimpleNamespace(name="x"), context=None, arguments="{}")
    if says is None:
        with pytest.raises(CallRefused):
            await call
    else:
        found = await call
        assert (found if name == "invoke_function_tool" else found.output) == "no refund: {}"


async def test_a_version_without_a_common_way_has_its_tools_wrapped_one_by_one() -> None:
    module = ModuleType("agents.tool")

    class FunctionTool:
        def __init__(self, name: str) -> None:
            self.name = name
            self.on_invoke_tool: Any = plain

    vars(module)["FunctionTool"] = FunctionTool
    install(module)
    install(module)
    tool = FunctionTool("x")
    assert tool.on_invoke_tool is not plain
    assert await tool.on_invoke_tool(None, "{}") == "{}"
