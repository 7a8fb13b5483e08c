"""Node runs of LangGraph as ``node`` steps around the calls in them, and the state after each super-step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from agentdbg.model.records import Kind, StepStatus
from agentdbg.recording import drive
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.frameworks import langgraph_interrupts, langgraph_seeding, langgraph_seeds
from agentdbg.recording.frameworks.langchain_values import CODEC, STATES
from agentdbg.recording.frameworks.langgraph_frames import EMPTY, Frame, entered, resumed, running, state_of, waiting
from agentdbg.recording.frameworks.patches import missing, replace_method
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.run import RunRecording
from agentdbg.recording.scope import Scope

_INTERNAL = ("__start__", "__end__")
_PUSH = "__pregel_push"
_NODE = "__agentdbg_node__"


def install() -> None:
    """Patch the modules that run a graph; they have the same functions before and since 1.0, under other names."""
    runner, loop, executor = (_module(name) for name in ("runner", "loop", "executor"))
    if runner is None or loop is None or executor is None:
        missing("langgraph", "pregel.runner, pregel.loop and pregel.executor: nodes and checkpoints")
        return
    opener = NodeOpener()
    found = replace_method(runner, "run_with_retry", lambda original: drive.function(opener, _framed(original)))
    found &= replace_method(
        runner, "arun_with_retry", lambda original: drive.coroutine(opener, _framed_async(original))
    )
    for name in ("run_with_retry", "arun_with_retry"):
        setattr(vars(runner)[name], _NODE, True)
    found &= replace_method(loop.PregelLoop, "tick", _ticking)
    found &= replace_method(loop.PregelLoop, "_put_checkpoint", _putting)
    langgraph_seeding.install(loop)
    if hasattr(loop.PregelLoop, "after_tick"):
        replace_method(loop.PregelLoop, "after_tick", _after_ticking)
    for name in ("BackgroundExecutor", "AsyncBackgroundExecutor"):
        found &= replace_method(getattr(executor, name), "submit", _submitting)
    if not found:
        missing("langgraph", "the functions that run nodes and save checkpoints")


def _module(name: str) -> ModuleType | None:
    return sys.modules.get(f"langgraph.pregel._{name}") or sys.modules.get(f"langgraph.pregel.{name}")


# -- super-steps ------------------------------------------------------------------------------------


def _ticking(original: Callable[..., Any]) -> Callable[..., Any]:
    def tick(self: Any, *args: Any, **kwargs: Any) -> Any:
        running.set(self)
        going_on = resumed.get()
        resumed.set(False)
        try:
            if hasattr(self, "after_tick"):
                langgraph_seeding.stop_again(self)
            more = original(self, *args, **kwargs)
        except BaseException as error:
            _see_stop(self, error)
            raise
        if going_on and more:
            langgraph_interrupts.gone_on(self)
        return more

    return tick


def _after_ticking(original: Callable[..., Any]) -> Callable[..., Any]:
    def after_tick(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            _see_stop(self, error)
            raise

    return after_tick


def _see_stop(loop: Any, error: BaseException) -> None:
    """A graph that was told to stop before or after a node waits for a person."""
    here = scopes.current()
    if here is not None and type(error).__name__ == "GraphInterrupt" and str(loop.status).startswith("interrupt_"):
        here.run.waiting = True
        langgraph_interrupts.stopped(loop)


def _putting(original: Callable[..., Any]) -> Callable[..., Any]:
    def put_checkpoint(self: Any, metadata: Any) -> Any:
        again = metadata is getattr(self, "checkpoint_metadata", None)  # on exit, the last one once more
        made = original(self, metadata)
        found, here = recorder(), scopes.current()
        if found is not None and here is not None and not again and metadata.get("source") == "loop":
            found.guard(lambda: _note(here, self, metadata), None)
        return made

    return put_checkpoint


def _note(here: Scope, loop: Any, metadata: Mapping[str, Any]) -> None:
    nodes = sorted({str(task.name) for task in loop.tasks.values()})
    state = state_of(loop)
    attrs: dict[str, object] = {"nodes": nodes, "super_step": metadata.get("step")}
    status = state.get("status") if isinstance(state, Mapping) else None
    if isinstance(status, str):
        attrs["status"] = status[:200]
    run = here.run
    attrs |= langgraph_seeds.declared(loop, run.recorder.settings.items("langgraph.can_resume"))
    members: dict[str, object] = {"attrs": run.gate.value(attrs)}
    if attrs.get("can_resume") and not loop.is_nested:
        seed: dict[str, object] | None = run.recorder.guard(
            lambda: langgraph_seeds.members(run, loop, here.parent), None
        )
        members |= seed or {}
    body = run.encode(None if state is EMPTY else STATES.freeze(state))
    run.note(here, Kind.CHECKPOINT, ", ".join(nodes) or "state", body, members)


# -- nodes ------------------------------------------------------------------------------------------


class NodeCall(ActiveCall):
    """One run of a node, with all its attempts."""

    def __init__(self, found: Recorder, scope: Scope, step: Any, task: Any) -> None:
        super().__init__(found, scope, step, scope.below(step.id)._replace(tool_name=""), CODEC)
        self._task = task

    def succeed(self, result: object, attrs: Mapping[str, object] | None = None) -> None:
        """The node is done: what it wrote is its result."""
        waits_no_more(self.run, self._task.id)
        super().succeed(written(self._task), attrs)

    def fail(self, error: BaseException) -> None:
        """The node raised; an interrupt and a command for the parent graph are no errors."""
        names = {kind.__name__ for kind in type(error).__mro__}
        if "GraphInterrupt" in names:
            waiting.setdefault(self.run, set()).add(str(self._task.id))
            self.run.waiting = True
            self._end(StepStatus.PARTIAL, lambda: None)
        elif "ParentCommand" in names:
            super().succeed(error.args[0] if error.args else None)
        else:
            super().fail(error)


def waits_no_more(run: RunRecording, task: object) -> None:
    """A node that had waited for a person has gone on."""
    pending = waiting.get(run)
    if pending is not None:
        pending.discard(str(task))
        run.waiting = bool(pending)


def written(task: Any) -> object:
    """What a node wrote, by channel, without what steers the graph."""
    found: dict[str, Any] = {}
    for channel, value in list(task.writes):
        name = str(channel)
        if name.startswith(("__", "branch:", "start:", "join:")) or name == task.name:
            continue
        if name in found:
            value = [*found[name], value] if type(found[name]) is list else [found[name], value]
        found[name] = value
    return found


class NodeOpener:
    """Opens node runs."""

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NodeCall | None:
        """Write the intent; ``None`` when nothing is recorded, and for LangGraph's own nodes."""
        found, here = recorder(), scopes.current()
        task: Any = args[0]
        if found is None or here is None or str(task.name) in _INTERNAL:
            return None
        if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
            raise stop
        return found.guard(lambda: self._opened(found, here, task), None)

    def _opened(self, found: Recorder, here: Scope, task: Any) -> NodeCall:
        path: tuple[Any, ...] = getattr(task, "path", ())
        pushed = bool(path) and path[0] == _PUSH  # one that was sent something of its own, not the state
        arguments = here.run.encode(CODEC.freeze(task.input)) if pushed else None
        step = here.run.begin(here, Kind.NODE, str(task.name), arguments)
        return NodeCall(found, here, step, task)


def _framed(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(task: Any, *args: Any, **kwargs: Any) -> Any:
        token = entered.set(Frame(running.get(), task))
        try:
            return original(task, *args, **kwargs)
        finally:
            entered.reset(token)

    return run


def _framed_async(original: Callable[..., Any]) -> Callable[..., Any]:
    async def run(task: Any, *args: Any, **kwargs: Any) -> Any:
        token = entered.set(Frame(running.get(), task))
        try:
            return await original(task, *args, **kwargs)
        finally:
            entered.reset(token)

    return run


def _submitting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Nodes that run beside others get lanes in the graph's order: their contexts are copied where they are submitted.

    What a graph runs beside its nodes (saving, waiting for output) is nobody's lane: how often varies from run to run.
    """

    def submit(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        here = scopes.current()
        if here is None:
            return original(self, fn, *args, **kwargs)
        with scopes.inside(here.forked() if hasattr(fn, _NODE) else None):
            return original(self, fn, *args, **kwargs)

    return submit
