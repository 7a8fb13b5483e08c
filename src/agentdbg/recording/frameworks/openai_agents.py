"""``Runner.run``, ``run_sync`` and ``run_streamed`` of openai-agents: a run, or below another agent a step.

An agent that takes over gets a step of its own below that, from its first turn to the next hand-over.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from agentdbg.recording import drive
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.framework_calls import AgentDescription, FrameworkAgent
from agentdbg.recording.frameworks import approvals, openai_agents_approvals
from agentdbg.recording.frameworks.openai_agents_approvals import interrupted, resumed
from agentdbg.recording.frameworks.patches import guarded, missing, replace_function, replace_method
from agentdbg.recording.revive import freeze


def install(module: ModuleType) -> None:
    """Patch ``agents.run``. Idempotent."""
    runner = module.Runner
    replace_method(runner, "run", lambda original: drive.coroutine(_RUN, _running(original)))
    replace_method(runner, "run_sync", lambda original: drive.function(_RUN_SYNC, _running_sync(original)))
    replace_method(runner, "run_streamed", _streaming)
    _install_turns(module)
    state = getattr(module, "RunState", None)
    if state is not None:
        openai_agents_approvals.install(state)


def _install_turns(module: ModuleType) -> None:
    loop = sys.modules.get("agents.run_internal.run_loop")
    found = False
    for name in ("run_single_turn", "run_single_turn_streamed"):
        in_loop = loop is not None and replace_function(loop, name, "agents", _turn)
        found |= in_loop or replace_method(getattr(module, "AgentRunner", None) or module.Runner, f"_{name}", _turn)
    if not found:
        missing("openai-agents (hand-overs)", "run_single_turn")


# -- runs -----------------------------------------------------------------------------------------


def _described(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AgentDescription | None:
    given = args[1:]  # without the class
    agent = given[0] if given else kwargs.get("starting_agent")
    asked = given[1] if len(given) > 1 else kwargs.get("input")
    session = kwargs.get("session")
    thread = kwargs.get("conversation_id") or getattr(session, "session_id", None)
    calls = resumed(asked)
    shown: Mapping[str, Any] = (
        {"resumed": [call.shown() for call in calls]} if _is_state(asked) else {"input": freeze(asked)}
    )
    context: Any = kwargs.get("context")
    attrs: dict[str, object] = {"framework": "openai-agents"}
    if getattr(context, "tool_call_id", None):
        attrs |= {"as_tool": str(getattr(context, "tool_name", "")), "call_id": str(context.tool_call_id)}
    return AgentDescription(
        str(getattr(agent, "name", agent)),
        shown,
        method=method,
        thread_id=str(thread) if thread else None,
        continues=approvals.run_of(call.call_id for call in calls),
        attrs=attrs,
    )


def _is_state(asked: Any) -> bool:
    return hasattr(asked, "get_interruptions")


class _ResultCodec:
    """The result of a run: its final output, or the calls that wait for approval."""

    def freeze(self, value: Any) -> object:
        """What a person would call the result."""
        calls = [call.shown() for call in interrupted(value)]
        return {"interruptions": calls} if calls else freeze(getattr(value, "final_output", None))

    def thaw(self, frozen: Any) -> Any:
        """Never asked: a replay runs agents again."""
        return frozen


_RESULT = _ResultCodec()
_RUN, _RUN_SYNC, _RUN_STREAMED = (
    FrameworkAgent(functools.partial(_described, method), _RESULT) for method in ("run", "run_sync", "run_streamed")
)


def _running(original: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        before, turns = _turns.get(), _begin(args, kwargs)
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            turns.fail(error)
            raise
        finally:
            _turns.set(before)
        turns.succeed(result)
        return result

    return run


def _running_sync(original: Callable[..., Any]) -> Callable[..., Any]:
    def run_sync(*args: Any, **kwargs: Any) -> Any:
        before, turns = _turns.get(), _begin(args, kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            turns.fail(error)
            raise
        finally:
            _turns.set(before)
        turns.succeed(result)
        return result

    return run_sync


def _streaming(original: Callable[..., Any]) -> Callable[..., Any]:
    """A streamed run goes on in a task when the call has returned: its step ends with that task."""

    def run_streamed(*args: Any, **kwargs: Any) -> Any:
        active = _RUN_STREAMED.open(args, kwargs)
        if active is None:
            return original(*args, **kwargs)
        token, before = active.enter(), _turns.get()
        try:
            turns = _begin(args, kwargs)
            result = original(*args, **kwargs)
        except BaseException as error:
            active.fail(error)
            raise
        finally:
            _turns.set(before)
            active.leave(token)
        task = getattr(result, "run_loop_task", None) or getattr(result, "_run_impl_task", None)
        if task is None:
            active.succeed(result)
        else:
            task.add_done_callback(functools.partial(_stream_ended, active, turns, result))
        return result

    return run_streamed


def _stream_ended(active: ActiveCall, turns: _Turns, result: Any, task: Any) -> None:
    error = None if task.cancelled() else task.exception()
    error = error or getattr(result, "_stored_exception", None)
    if task.cancelled():
        from asyncio import CancelledError

        error = CancelledError()
    with scopes.inside(active.scope):
        turns.succeed(result) if error is None else turns.fail(error)
    active.succeed(result) if error is None else active.fail(error)


def _begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Turns:
    """In the step's scope, before the framework begins."""
    asked = args[2] if len(args) > 2 else kwargs.get("input")
    agent = args[1] if len(args) > 1 else kwargs.get("starting_agent")
    if _is_state(asked):
        guarded(lambda: approvals.resume([call.call_id for call in resumed(asked)]))
    made = _Turns(str(getattr(agent, "name", "")))
    _turns.set(made)
    return made


# -- hand-overs -----------------------------------------------------------------------------------


class _Turns:
    """Which agent has the turn in one run, and the step of one that has taken over."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._step: ActiveCall | None = None
        self._outside = scopes.current()

    def step(self, agent: str) -> ActiveCall | None:
        """The step in which an agent's turn takes place; ``None`` for the run's own."""
        if agent != self._agent:
            before, self._agent = self._agent, agent
            self._close()
            with scopes.inside(self._here()):
                self._step = _HANDED_OVER.open((agent, before), {})
        return self._step

    def _here(self) -> scopes.Scope | None:
        """Where hand-overs are written: below the run's step, in the lane of the turn."""
        current = scopes.current()
        if current is None or self._outside is None:
            return current
        return current._replace(parent=self._outside.parent)

    def _close(self) -> None:
        if self._step is not None:
            self._step.succeed(None)
        self._step = None

    def succeed(self, result: Any) -> None:
        """The run returned."""
        guarded(lambda: approvals.wait(interrupted(result)))
        if self._step is not None:
            self._step.succeed(result)

    def fail(self, error: BaseException) -> None:
        """The run raised."""
        if self._step is not None:
            self._step.fail(error)


_turns: ContextVar[_Turns | None] = ContextVar("agentdbg_openai_agents_turns", default=None)


def _handed_over(args: tuple[Any, ...], kwargs: dict[str, Any]) -> AgentDescription:
    agent, before = args
    attrs = {"framework": "openai-agents", "handed_over_by": before}
    return AgentDescription(agent, {"handed_over_by": before}, attrs=attrs)


_HANDED_OVER = FrameworkAgent(_handed_over, _RESULT)


def _turn(original: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def run_turn(*args: Any, **kwargs: Any) -> Any:
        turns = _turns.get()
        step = None if turns is None or scopes.current() is None else turns.step(_agent_of(args, kwargs))
        if step is None:
            return await original(*args, **kwargs)
        current = scopes.current()
        inside = step.scope if current is None else step.scope._replace(lane=current.lane)
        with scopes.inside(inside):
            return await original(*args, **kwargs)

    return run_turn


def _agent_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    bindings = kwargs.get("bindings")
    agent = getattr(bindings, "public_agent", None) or kwargs.get("agent")
    for value in args:
        if agent is None:
            agent = getattr(value, "public_agent", None) or (value if hasattr(value, "handoffs") else None)
    return str(getattr(agent, "name", ""))
