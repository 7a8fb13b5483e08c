"""``@agentdbg.agent`` and ``@agentdbg.tool``: functions as steps of a run, in every form that Python has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from agentdbg.model.records import Effect
from agentdbg.recording import drive
from agentdbg.recording.agent_calls import AgentCalls
from agentdbg.recording.process import enabled
from agentdbg.recording.tool_calls import ToolCalls

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


@overload
def agent(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def agent(
    *,
    name: str | None = None,
    version: str | None = None,
    prompt_version: str | None = None,
    tool_schema_version: str | None = None,
    model_route_version: str | None = None,
    policy_version: str | None = None,
    thread_id: str | Callable[..., str | None] | None = None,
    tags: Mapping[str, str] | None = None,
    factories: Mapping[str, Callable[[], object]] | None = None,
) -> Callable[[F], F]: ...


def agent(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function the root of a run; below another agent, a step of that agent's run.

    Args:
        name: Name of the agent; the function's name by default.
        version: Version of the agent; likewise the prompt, tool-schema, model-route and policy versions. What is not declared is derived.
        thread_id: The conversation, or the name of the parameter that holds it, or a function of the arguments.
        tags: Fixed tags.
        factories: Parameter name to a function that makes the argument again for a replay, for arguments that cannot be written down.
    """
    if function is None:
        return functools.partial(agent, **options)
    if not enabled():
        return function
    return _wrapped(function, AgentCalls(function, **options))


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(
    *,
    effect: str = "external",
    name: str | None = None,
    idempotency_key: str | Callable[..., object] | None = None,
    dry_run: Callable[..., object] | None = None,
    status: Callable[..., object] | None = None,
    volatile: Sequence[str] = (),
) -> Callable[[F], F]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool call: arguments on disk before it runs, result after, served from the record in a replay.

    Args:
        effect: ``none``, ``read``, ``write`` or ``external``. Undeclared means ``external``.
        idempotency_key: Parameter that holds the key, or a function of the arguments.
        dry_run: What a regression replay may call instead of a write.
        status: Looks up by key whether a write that is in doubt was done.
        volatile: Argument paths that do not count for the call's identity (``request_time``, ``$.a.b``, ``$..nonce``).

    Raises:
        ValueError: ``effect`` is none of the four.
    """
    if function is None:
        Effect(options.get("effect", "external"))
        return functools.partial(tool, **options)
    if not enabled():
        return function
    return _wrapped(function, ToolCalls(function, **options))


def _wrapped(function: Callable[..., Any], opener: drive.Opener) -> Callable[..., Any]:
    for is_form, form in (
        (inspect.isasyncgenfunction, drive.async_generator),
        (inspect.iscoroutinefunction, drive.coroutine),
        (inspect.isgeneratorfunction, drive.generator),
    ):
        if is_form(function):
            return functools.wraps(function)(form(opener, function))
    return functools.wraps(function)(drive.function(opener, function))
