"""Intents and outcomes of one ``@agentdbg.agent`` function: a run when it is the outermost, a step below another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from agentdbg.model.records import Kind
from agentdbg.recording import hashes, unfinished
from agentdbg.recording import scope as scopes
from agentdbg.recording import tool_calls as _tool_calls  # noqa: F401  # loaded with the root, not in the middle of its run
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.arguments import Binder
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.entry_point import function_entry
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.run import RunRecording

if TYPE_CHECKING:
    from agentdbg.recording.openers import AgentOpener


class AgentCalls:
    """Opens the calls of one agent."""

    def __init__(self, opener: AgentOpener) -> None:
        self.name = opener.name
        self.function = opener.function
        self._options = opener.options
        self._bind = Binder(opener.function)

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        """Write the intent; ``None`` when nothing is recorded."""
        found = recorder()
        if found is None:
            return None
        try:
            return self._open(found, args, kwargs)
        except ReplayStop:
            raise
        except Exception as error:
            found.fault(error)
            return None

    def _open(self, found: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall:
        arguments = self._bind(args, kwargs)
        scope = scopes.current() or found.inherited_scope()
        if scope is not None:
            shown = {key: value for key, value in arguments.items() if key not in self._options.factories}
            step = scope.run.begin(scope, Kind.AGENT, self.name, scope.run.encode(shown))
            return ActiveCall(found, scope, step, scope.below(step.id))
        return self._root(found, arguments)

    def _root(self, found: Recorder, arguments: dict[str, Any]) -> RootCall:
        number = found.begin_root()
        kept = {key: value for key, value in arguments.items() if key not in self._options.factories}
        run = RunRecording.start(found, self.name, entry={})
        hashes.note_root(run.scope())
        facts = run.facts
        facts.root = number
        encoded = run.encode(kept)
        body = run.body(encoded.data)
        entry = partial(function_entry, run, self.function, body, encoded.holes, self._options.factories)
        facts.entry = {**found.guard(entry, {"args": body}), **_resume_entry(self._options.resume)}
        facts.tags.update(self._options.tags)
        for group, wanted in self._options.versions.items():
            declared = found.guard(partial(_told, wanted, arguments), None)
            if declared is not None:
                facts.versions[group] = {"value": run.gate.text(declared), "origin": "recorded"}
        facts.thread_id = found.guard(partial(_told, self._options.thread_id, arguments), None)
        run.save()
        scope = run.scope()
        step = run.begin(scope, Kind.AGENT, self.name, encoded)
        return RootCall(found, scope, step, scope.below(step.id))


class RootCall(ActiveCall):
    """The call that is a run: its end is the run's end."""

    def ended(self, status: str, error: BaseException | None) -> None:
        """Close the run. ``sys.exit(0)`` is no failure."""
        if isinstance(error, SystemExit) and error.code in (None, 0):
            status, error = "ok", None
        if error is not None and not self.run.facts.failing_step:
            self.run.facts.failing_step = self.step.id
        self._guarded(lambda: unfinished.give_up(self.run))
        self._guarded(lambda: self.run.finish(status, error))
        self._recorder.end_root()


def _resume_entry(resume: str | Callable[..., Any] | None) -> dict[str, object]:
    """That the agent can go on from a checkpoint, and by what."""
    if resume is None:
        return {}
    return {
        "resume": resume if isinstance(resume, str) else str(getattr(resume, "__qualname__", type(resume).__name__))
    }


def _told(wanted: str | Callable[..., object] | None, arguments: Mapping[str, Any]) -> str | None:
    """What an option says of this call: a text, the parameter of that name, or what a function gives."""
    value = wanted(**arguments) if callable(wanted) else arguments.get(wanted, wanted) if wanted else None
    return None if value is None else str(value)
