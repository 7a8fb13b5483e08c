"""What a framework's adapter says of a patched method, and the openers that make tools and agents of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from agentdbg.model.records import Effect, Kind
from agentdbg.recording import hashes, launched
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.agent_calls import RootCall
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.entry_point import framework_entry
from agentdbg.recording.frameworks import mcp_annotations
from agentdbg.recording.openers import REGISTRY
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.run import RunRecording


class Codec(Protocol):
    """Turns a framework's own result objects into values that can be written down, and back."""

    def freeze(self, value: Any) -> object:
        """``value`` made of encodable values only (see the typed encoding in FORMAT.md)."""

    def thaw(self, frozen: Any) -> Any:
        """The framework's object again; runs in a replay only. Nothing in ``frozen`` may name code to load."""


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """One call of a framework's tool.

    Attributes:
        name: The tool's name as the model sees it.
        arguments: By parameter name, without what the framework injects.
        effect: ``none``, ``read``, ``write``, ``external``, or ``None`` when nobody declared one.
        attrs: Further facts, encodable (the model's call id: ``call_id``).
        served_only: It is done by a server that no replay reaches.
    """

    name: str
    arguments: Mapping[str, Any]
    effect: str | None = None
    attrs: Mapping[str, object] = field(default_factory=dict)
    served_only: bool = False


@dataclass(frozen=True, slots=True)
class AgentDescription:
    """One call of a framework's agent.

    Attributes:
        name: The agent's name.
        arguments: What it was called with, by parameter name, encodable as far as possible.
        target: The object whose method was called; a module-level one can be found again by a replay.
        method: Name of that method.
        thread_id: The conversation, where the framework knows one.
        tags: Facts to find the run by.
        continues: Run that this call goes on with (an approval that came later).
        attrs: Further facts.
    """

    name: str
    arguments: Mapping[str, Any]
    target: object = None
    method: str = ""
    thread_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    continues: str | None = None
    attrs: Mapping[str, object] = field(default_factory=dict)


class FrameworkTool:
    """Opens the calls of a framework's tools. ``describe`` gives ``None`` for a call that is none."""

    def __init__(
        self,
        describe: Callable[[tuple[Any, ...], dict[str, Any]], ToolDescription | None],
        codec: Codec | None = None,
        kind: Kind = Kind.TOOL,
    ) -> None:
        self._describe = describe
        self._codec = codec
        self._kind = kind

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        """Write the intent; ``None`` when nothing is recorded."""
        return _opened(partial(self._open, args, kwargs))

    def _open(self, args: tuple[Any, ...], kwargs: dict[str, Any], found: Recorder) -> ActiveCall | None:
        scope = scopes.current() or found.outer_scope()
        if scope is None:
            return None
        if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
            raise stop
        described = self._describe(args, kwargs)
        if described is None or scope.tool_name == described.name:
            return None
        run = scope.run
        effect, declared = declared_effect(found, described.name, described.effect)
        attrs = {key: run.gate.value(value) for key, value in described.attrs.items()}
        if not declared:
            attrs["effect_declared"] = False
        members: dict[str, object] = {"attrs": attrs} if attrs else {}
        encoded = run.encode(dict(described.arguments))
        step = run.begin(scope, self._kind, described.name, encoded, effect=effect, members=members)
        if step.call is not None:
            asked_as = described.attrs.get("call_id")
            call_id = asked_as if isinstance(asked_as, str) else None
            far = described.served_only or mcp_annotations.has_listed(described.name)
            step.call = replace(step.call, given=described.arguments, call_id=call_id, served_only=far)
        inside = scope.below(step.id, tool=True)._replace(tool_name=described.name)
        return ActiveCall(found, scope, step, inside, self._codec)


class FrameworkAgent:
    """Opens the calls of a framework's agents: a run when outermost, a step below another.

    ``thaw`` makes positional and keyword arguments of the recorded ones, for a replay that calls the method itself.
    """

    def __init__(
        self,
        describe: Callable[[tuple[Any, ...], dict[str, Any]], AgentDescription | None],
        codec: Codec | None = None,
        thaw: Callable[[dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]] | None = None,
    ) -> None:
        self._describe = describe
        self._codec = codec
        self.thaw = thaw
        self.factories: Mapping[str, Callable[[], object]] = {}

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        """Write the intent; ``None`` when nothing is recorded."""
        return _opened(partial(self._open, args, kwargs))

    def _open(self, args: tuple[Any, ...], kwargs: dict[str, Any], found: Recorder) -> ActiveCall | None:
        described = self._describe(args, kwargs)
        if described is None:
            return None
        scope = scopes.current() or found.inherited_scope()
        if scope is None:
            return self._root(found, described)
        if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
            raise stop
        run = scope.run
        attrs = {key: run.gate.value(value) for key, value in described.attrs.items()}
        members: dict[str, object] = {"attrs": attrs} if attrs else {}
        step = run.begin(scope, Kind.AGENT, described.name, run.encode(dict(described.arguments)), members=members)
        return ActiveCall(found, scope, step, scope.below(step.id), self._codec)

    def _root(self, found: Recorder, described: AgentDescription) -> RootCall:
        number = found.begin_root()
        run = RunRecording.start(found, described.name, entry={})
        hashes.note_root(run.scope())
        facts = run.facts
        facts.root = number
        encoded = run.encode(dict(described.arguments))
        body = run.body(encoded.data)
        entry = partial(framework_entry, run, described.target, described.method, body, encoded.holes)
        facts.entry = found.guard(entry, {"args": body})
        facts.tags.update({key: run.gate.text(value) for key, value in described.tags.items()})
        facts.thread_id = None if described.thread_id is None else run.gate.text(described.thread_id)
        facts.continues = described.continues or facts.continues
        run.save()
        scope = run.scope()
        attrs = {key: run.gate.value(value) for key, value in described.attrs.items()}
        members: dict[str, object] = {"attrs": attrs} if attrs else {}
        step = run.begin(scope, Kind.AGENT, described.name, encoded, members=members)
        return RootCall(found, scope, step, scope.below(step.id), self._codec)


def declared_effect(found: Recorder, name: str, said: str | None) -> tuple[Effect, bool]:
    """A tool's level and whether somebody declared it: the framework, a decorator below it, or the settings."""
    launched.met_tool(name)
    if said is None:
        opener = REGISTRY.get(name)
        said = opener.options.effect if opener is not None else None
    if said is None:
        said = found.settings.table("tools").get(name)
    return (Effect.EXTERNAL, False) if said is None else (Effect(said), True)


def _opened(function: Callable[[Recorder], ActiveCall | None]) -> ActiveCall | None:
    found = recorder()
    if found is None:
        return None
    try:
        return function(found)
    except ReplayStop:
        raise
    except Exception as error:
        found.fault(error)
        return None
