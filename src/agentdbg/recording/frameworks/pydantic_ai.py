"""Agents of pydantic-ai: ``run``, ``run_sync``, ``run_stream`` and ``iter`` are one step: all go through ``iter``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from contextvars import Token
from types import ModuleType, TracebackType
from typing import Any

from agentdbg.recording.active import ActiveCall
from agentdbg.recording.entry_point import named
from agentdbg.recording.framework_calls import AgentDescription, FrameworkAgent
from agentdbg.recording.frameworks import approvals
from agentdbg.recording.frameworks.approvals import WaitingCall
from agentdbg.recording.frameworks.patches import guarded, missing, replace_method
from agentdbg.recording.notes import external_read
from agentdbg.recording.revive import freeze
from agentdbg.recording.scope import Scope

_RUN = "run"


def install(module: ModuleType) -> None:
    """Patch ``pydantic_ai.agent``. Idempotent."""
    if not replace_method(module.Agent, "iter", _iterating):
        missing("pydantic-ai", "Agent.iter")


def _iterating(original: Callable[..., Any]) -> Callable[..., Any]:
    def iterate(*args: Any, **kwargs: Any) -> _Run:
        caller = sys._getframe(1).f_code.co_name
        return _Run(functools.partial(original, *args, **kwargs), args, kwargs, caller)

    return iterate


class _Run:
    """The context manager of one run of an agent: the step is open as long as the run is."""

    def __init__(self, make: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any], caller: str) -> None:
        self._inner = make()
        self._args, self._kwargs = args, {**kwargs, "__caller": caller}
        self._active: ActiveCall | None = None
        self._token: Token[Scope | None] | None = None
        self._run: Any = None

    async def __aenter__(self) -> Any:
        self._active = _AGENT.open(self._args, self._kwargs)
        if self._active is None:
            return await self._inner.__aenter__()
        self._token = self._active.enter()
        guarded(lambda: _resume(self._kwargs.get("deferred_tool_results")))
        try:
            self._run = await self._inner.__aenter__()
        except BaseException as error:
            self._active.leave(self._token)
            self._active.fail(error)
            raise
        return self._run

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> Any:
        if self._active is None or self._token is None:
            return await self._inner.__aexit__(kind, error, where)
        try:
            swallowed = await self._inner.__aexit__(kind, error, where)
        except BaseException as raised:
            self._active.leave(self._token)
            self._active.fail(raised)
            raise
        if error is None or swallowed:
            guarded(lambda: approvals.wait(_requested(self._run)))
        self._active.leave(self._token)
        if error is not None and not swallowed:
            self._active.fail(error)
        else:
            self._active.succeed(self._run)
        return swallowed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> AgentDescription:
    agent = args[0]
    prompt = args[1] if len(args) > 1 else kwargs.get("user_prompt")
    results = kwargs.get("deferred_tool_results")
    shown: dict[str, Any] = {"user_prompt": freeze(prompt)}
    if results is not None:
        shown["deferred_tool_results"] = freeze(results)
    thread = kwargs.get("conversation_id")
    callable_again = kwargs["__caller"] == _RUN and results is None and kwargs.get("message_history") is None
    return AgentDescription(
        _name(agent),
        shown,
        target=agent if callable_again and kwargs.get("deps") is None else None,
        method=_RUN,
        thread_id=str(thread) if thread else None,
        continues=approvals.run_of(_decided(results)),
        attrs={"framework": "pydantic-ai"},
    )


def _name(agent: Any) -> str:
    """The agent's name; pydantic-ai takes one that has none from the variable of whoever calls."""
    place = None if getattr(agent, "name", None) else named(agent)
    return str(getattr(agent, "name", None) or (place[1] if place is not None else "agent"))


class _RunCodec:
    """An agent's run: its output."""

    def freeze(self, value: Any) -> object:
        """The output; nothing for a stream, whose consumer has it."""
        return freeze(getattr(getattr(value, "result", None), "output", None))

    def thaw(self, frozen: Any) -> Any:
        """Never asked: a replay runs agents again."""
        return frozen


_AGENT = FrameworkAgent(_described, _RunCodec())


# -- approvals ------------------------------------------------------------------------------------


def _requested(run: Any) -> list[WaitingCall]:
    """The tool calls that a run's output says to wait for approval."""
    output = getattr(getattr(run, "result", None), "output", None)
    found = getattr(output, "approvals", None) if type(output).__name__ == "DeferredToolRequests" else None
    return [WaitingCall(part.tool_name, _arguments(part), part.tool_call_id) for part in found or ()]


def _arguments(part: Any) -> Mapping[str, Any]:
    found = part.args_as_dict()
    return found if isinstance(found, dict) else {"input": found}


def _decided(results: Any) -> list[str]:
    return [*getattr(results, "approvals", {}), *getattr(results, "calls", {})]


def _resume(results: Any) -> None:
    """Make what came from outside steps of the run that goes on with it."""
    if results is None:
        return
    who: Mapping[str, Any] = getattr(results, "answered_by", None) or {}
    for call_id, answer in results.approvals.items():
        call = approvals.waited(call_id) or WaitingCall("a tool", {}, call_id)
        approved = answer is True or type(answer).__name__ == "ToolApproved"
        changed = getattr(answer, "override_args", None)
        if approved and changed is not None:
            call = WaitingCall(call.tool, changed, call.call_id)
        approvals.decide(call, "approved" if approved else "rejected", who=who.get(call_id))
    for call_id, value in results.calls.items():
        known = approvals.waited(call_id)
        external_read(f"deferred tool {known.tool if known is not None else call_id}", freeze(value))
    approvals.resume(results.approvals)
