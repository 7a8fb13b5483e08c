"""Intents and outcomes of one ``@agentdbg.agent`` function: a run when it is the outermost, a step below another."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from agentdbg.model.records import Kind
from agentdbg.recording import propagate
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.run import RunRecording
from agentdbg.recording.tool_calls import bound_arguments


class AgentCalls:
    """Opens the calls of one agent; options as of ``decorators.agent``."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        thread_id: str | Callable[..., str | None] | None = None,
        tags: Mapping[str, str] | None = None,
        factories: Mapping[str, Callable[[], object]] | None = None,
        **versions: str | None,
    ) -> None:
        self.name = name or function.__name__
        self.factories = dict(factories or {})
        self.function = function
        self.signature = inspect.signature(function)
        self._thread_id = thread_id
        self._tags = {str(k): str(v) for k, v in (tags or {}).items()}
        self._versions = _named_versions(versions)
        function.__dict__["__agentdbg_agent__"] = self

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
        propagate.install()
        arguments = bound_arguments(self.signature, args, kwargs)
        scope = scopes.current()
        if scope is not None:
            shown = {key: value for key, value in arguments.items() if key not in self.factories}
            step = scope.run.begin(scope, Kind.AGENT, self.name, scope.run.encode(shown))
            return ActiveCall(found, scope, step, scope.below(step.id))
        return self._root(found, arguments)

    def _root(self, found: Recorder, arguments: dict[str, Any]) -> RootCall:
        found.begin_root()
        kept = {key: value for key, value in arguments.items() if key not in self.factories}
        run = RunRecording.start(found, self.name, entry={})
        facts = run.facts
        encoded = run.encode(kept)
        facts.entry = self._entry(run, run.body(encoded.data), encoded.holes)
        facts.tags.update(self._tags)
        facts.versions.update({key: {"value": value, "origin": "recorded"} for key, value in self._versions.items()})
        facts.thread_id = self._thread(arguments)
        run.save()
        scope = run.scope()
        step = run.begin(scope, Kind.AGENT, self.name, encoded)
        return RootCall(found, scope, step, scope.below(step.id))

    def _entry(self, run: RunRecording, arguments: dict[str, object], holes: tuple[str, ...]) -> dict[str, object]:
        code = self.function.__code__
        entry: dict[str, object] = {
            "callable": {
                "module": self.function.__module__,
                "qualname": self.function.__qualname__,
                "file": run.recorder.neutral(os.path.abspath(code.co_filename)),
            },
            "args": arguments,
            "path": [run.recorder.neutral(place) for place in _program_path()],
            "argv": [run.gate.text(word) for word in sys.argv],
            "cwd": run.recorder.neutral(os.getcwd()),
            "python": ".".join(map(str, sys.version_info[:3])),
        }
        spec = getattr(sys.modules.get("__main__"), "__spec__", None)
        if self.function.__module__ == "__main__" and spec is not None:
            entry["callable"] = {**_mapping(entry["callable"]), "module": spec.name}
        if self.factories:
            entry["factories"] = sorted(self.factories)
        if holes:
            entry["not_replayable"] = [hole.replace("not replayable from here: ", "argument ") for hole in holes]
        return entry

    def _thread(self, arguments: dict[str, Any]) -> str | None:
        wanted = self._thread_id
        if wanted is None:
            return None
        value = wanted(**arguments) if callable(wanted) else arguments.get(wanted, wanted)
        return None if value is None else str(value)


class RootCall(ActiveCall):
    """The call that is a run: its end is the run's end."""

    def ended(self, status: str, error: BaseException | None) -> None:
        """Close the run."""
        if error is not None and not self.run.facts.failing_step:
            self.run.facts.failing_step = self.step.id
        self._guarded(lambda: self.run.finish(status, error))


def _program_path() -> list[str]:
    """Where the program's own modules are found: the search path without the interpreter's own places."""
    own = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix})
    return [place for place in (os.path.abspath(entry or ".") for entry in sys.path) if not place.startswith(own)]


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _named_versions(options: Mapping[str, str | None]) -> dict[str, str]:
    names = {
        "version": "agent",
        "prompt_version": "prompt",
        "tool_schema_version": "tool_schema",
        "model_route_version": "model_route",
        "policy_version": "policy",
    }
    unknown = set(options) - set(names)
    if unknown:
        raise TypeError(f"agent() got an unexpected option {sorted(unknown)[0]!r}")
    return {names[key]: str(value) for key, value in options.items() if value is not None}
