"""Celery: a task is a run from its first call on, with the run that sent it named; in eager mode a step of that run."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.model.records import Kind, StepStatus
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall, status_of
from agentdbg.recording.process import RUN_ID, recorder
from agentdbg.recording.servers import trace_context
from agentdbg.recording.servers.places import Place, entry_of
from agentdbg.recording.servers.roots import Answer, Ending, ServedRoot

if TYPE_CHECKING:
    from contextvars import Token

    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Scope

HEADER = "agentdbg"
"""The message header that names the run and the step that sent a task."""
_installed = False
_FAILED = frozenset(("FAILURE", "RETRY", "REJECTED"))


class _Task(Protocol):
    """A task that is being carried out."""

    def end(self, state: str | None, value: object, error: BaseException | None) -> None:
        """It has ended."""


def install(module: ModuleType) -> None:
    """Listen to the signals of sending and of carrying out tasks. Idempotent."""
    global _installed
    if _installed:
        return
    _installed = True
    signals = import_module("celery.signals")
    signals.worker_init.connect(_in_worker, weak=False)
    signals.before_task_publish.connect(_before_publish, weak=False)
    signals.task_prerun.connect(_before_run, weak=False)
    signals.task_failure.connect(_at_failure, weak=False)
    signals.task_retry.connect(_at_retry, weak=False)
    signals.task_postrun.connect(_after_run, weak=False)


def _in_worker(**_: object) -> None:
    """A worker starts: what its own process does is no run."""
    found = recorder()
    if found is not None:
        found.serving = True


def _before_publish(headers: Any = None, **_: object) -> None:
    """A task is sent: by which run and step."""
    here = scopes.current()
    if here is not None and isinstance(headers, dict):
        headers.setdefault(HEADER, {"run": here.run.run_id, "step": here.parent})


def _before_run(task_id: Any = None, task: Any = None, args: Any = (), kwargs: Any = None, **_: object) -> None:
    found = recorder()
    if found is not None and task is not None:
        found.guard(lambda: _begin(found, task, str(task_id), args, kwargs or {}), None)


def _at_failure(task_id: Any = None, exception: Any = None, **_: object) -> None:
    _note_error(str(task_id), exception)


def _at_retry(request: Any = None, reason: Any = None, **_: object) -> None:
    _note_error(str(getattr(request, "id", "")), reason)


def _after_run(task_id: Any = None, retval: Any = None, state: Any = None, **_: object) -> None:
    carried = _open.pop((threading.get_ident(), str(task_id)), None)
    if carried is None:
        return
    scopes.leave(carried.token)
    found = recorder()
    if found is not None:
        found.guard(lambda: carried.task.end(state, retval, carried.error), None)


@dataclass(slots=True)
class _Carried:
    """A task between its two signals."""

    token: Token[Scope | None]
    task: _Task
    error: BaseException | None = None


_open: dict[tuple[int, str], _Carried] = {}


def _note_error(task_id: str, error: object) -> None:
    carried = _open.get((threading.get_ident(), task_id))
    if carried is not None and isinstance(error, BaseException):
        carried.error = error


def _begin(found: Recorder, task: Any, task_id: str, args: Any, kwargs: Any) -> None:
    here, waiting = scopes.current(), scopes.unbegun()
    if waiting is not None and waiting.root is not scopes.program_run and here is None:
        return  # carried out at once within a request that has made no call yet
    key = (threading.get_ident(), task_id)
    given = {"args": list(args or ()), "kwargs": dict(kwargs)}
    if here is not None and getattr(task.request, "is_eager", False):
        step = here.run.begin(here, Kind.AGENT, str(task.name), here.run.encode(given))
        call = ActiveCall(found, here, step, here.below(step.id))
        _open[key] = _Carried(call.enter(), _Nested(call))
        return
    mode = found.settings.text("recording.requests")
    found.serving = found.serving or found.answerer is None
    carried = _Root(found, task, task_id, given, runs=mode != "off")
    _open[key] = _Carried(scopes.enter(carried.root.scope()), carried)
    if mode == "always" or found.answerer is not None:
        carried.root.begin()


class _Nested:
    """A task that is carried out within a run: a step of it."""

    def __init__(self, call: ActiveCall) -> None:
        self._call = call

    def end(self, state: str | None, value: object, error: BaseException | None) -> None:
        """Write the outcome."""
        if error is not None:
            self._call.fail(error)
        else:
            self._call.succeed(value)


class _Root:
    """A task that came out of a queue."""

    def __init__(self, found: Recorder, task: Any, task_id: str, given: Mapping[str, object], *, runs: bool) -> None:
        self._task = task
        self._id = task_id
        self._given = given
        self._value: object = None
        self._request = task.request
        self.root = ServedRoot(found, self, runs=runs)

    def end(self, state: str | None, value: object, error: BaseException | None) -> None:
        """The task has ended."""
        failed = error is not None or state is None or state in _FAILED
        self._value = None if failed else value
        status = StepStatus.OK if not failed else StepStatus.ERROR if error is None else status_of(error)
        self.root.end(Ending(status, "failed" if failed else "ok", error))

    # -- as the root asks -------------------------------------------------------------------------

    def name(self) -> str:
        """The task's name."""
        return str(self._task.name)

    def arguments(self, run: RunRecording) -> Mapping[str, object]:
        """What the task was sent with."""
        return self._given

    def entry(self, run: RunRecording, body: dict[str, object], holes: tuple[str, ...]) -> dict[str, object]:
        """The task, which a replay applies in its own process."""
        facts: dict[str, object] = {"task": run.gate.text(self.name())}
        return entry_of(run, _place(self._task), "celery", facts, body, next(iter(holes), ""))

    def answer(self, run: RunRecording) -> Answer:
        """What the task returned."""
        return Answer(self._value)

    def tags(self) -> Mapping[str, str]:
        """Task id, name and queue."""
        delivery = getattr(self._request, "delivery_info", None) or {}
        queue = delivery.get("routing_key") if isinstance(delivery, Mapping) else None
        found = {"task_id": self._id, "task": self.name()}
        return {**found, "queue": str(queue)} if queue else found

    def continues(self) -> str | None:
        """The run that sent the task."""
        told = getattr(self._request, HEADER, None)
        run = told.get("run") if isinstance(told, Mapping) else None
        return run if isinstance(run, str) and RUN_ID.match(run) else None

    def trace_id(self) -> str | None:
        """The trace that came with the message, where OpenTelemetry sent it."""
        told = getattr(self._request, "traceparent", None)
        return trace_context.trace_id({"traceparent": told}) if isinstance(told, str) else None


def _place(task: Any) -> Place | None:
    """The module-level name of a task."""
    module = sys.modules.get(str(getattr(task, "__module__", "")))
    function = getattr(task, "__wrapped__", None) or getattr(task, "run", None)
    name = str(getattr(function, "__name__", ""))
    file = getattr(module, "__file__", None)
    if module is None or file is None or getattr(getattr(module, name, None), "name", None) != task.name:
        return None
    return Place(module.__name__, name, os.path.abspath(file))
