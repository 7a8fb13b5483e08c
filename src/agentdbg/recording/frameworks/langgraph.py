"""Graphs of LangGraph as agents: ``invoke``, ``ainvoke``, ``stream``, ``astream``; subgraphs as nested ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from agentdbg.recording import drive
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.agent_calls import RootCall
from agentdbg.recording.framework_calls import AgentDescription, FrameworkAgent
from agentdbg.recording.frameworks import langgraph_nodes, langgraph_seeding, langgraph_threads
from agentdbg.recording.frameworks.langchain_values import CODEC
from agentdbg.recording.frameworks.langgraph_frames import resumed, streams
from agentdbg.recording.frameworks.patches import missing, replace_method
from agentdbg.recording.process import Recorder

_FORMS: tuple[tuple[str, Any], ...] = (
    ("invoke", drive.function),
    ("ainvoke", drive.coroutine),
    ("stream", drive.generator),
    ("astream", drive.async_generator),
)
_STREAMS = {
    drive.generator: langgraph_seeding.after_given,
    drive.async_generator: langgraph_seeding.after_given_async,
}
_CONFIG = ("tags", "metadata", "run_name", "max_concurrency", "recursion_limit", "run_id")
_entered: ContextVar[object] = ContextVar("agentdbg_langgraph_entered", default=None)
"""The graph whose ``invoke`` is a step already, until it calls its own ``stream``."""


def install(module: ModuleType) -> None:
    """Patch ``langgraph.pregel``."""
    for method, form in _FORMS:
        opener = GraphAgent(method)
        original = vars(module.Pregel).get(method)
        if original is None:
            missing("langgraph", f"Pregel.{method}")
            continue
        original.__agentdbg_agent__ = opener  # a replay looks here
        replace_method(module.Pregel, method, functools.partial(_driven, form, opener))
    langgraph_nodes.install()


def _driven(form: Any, opener: GraphAgent, original: Callable[..., Any]) -> Callable[..., Any]:
    if langgraph_seeding.plan is not None and form in _STREAMS:
        original = _STREAMS[form](original)
    driven: Callable[..., Any] = form(opener, original)
    return driven


class GraphAgent(FrameworkAgent):
    """Opens the calls of one method of every graph."""

    def __init__(self, method: str) -> None:
        super().__init__(functools.partial(_describe, method), CODEC, _thawed)
        self._whole = method.endswith("invoke")

    def open(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        """Write the intent, but not of the ``stream`` that an ``invoke`` comes through."""
        graph = args[0]
        if not self._whole and _entered.get() is graph:
            _entered.set(None)
            return None
        active = super().open(args, kwargs)
        if active is None:
            return None
        if self._whole:
            _entered.set(graph)
        else:
            streams[active.step.id] = active
        langgraph_seeding.met(active, _name(graph), graph)
        return active

    def _open(self, args: tuple[Any, ...], kwargs: dict[str, Any], found: Recorder) -> ActiveCall | None:
        active = super()._open(args, kwargs, found)
        resumed.set(active is not None and _given(args, kwargs)[0] is None)
        if active is not None and not isinstance(active, RootCall):
            given, config = _given(args, kwargs)
            thread = thread_of(config)
            if thread is not None:
                langgraph_threads.joined(found, active.run, thread, resuming=is_resuming(given))
        if isinstance(active, RootCall) and active.run.facts.thread_id is not None:
            langgraph_threads.remember(active.run, active.run.facts.thread_id)
        return active


def _describe(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AgentDescription:
    graph = args[0]
    given, config = _given(args, kwargs)
    arguments: dict[str, Any] = {"input": CODEC.freeze(given)}
    if config is not None:
        arguments["config"] = shown_config(config)
    for name, value in kwargs.items():
        if name not in ("input", "config") and value is not None:
            arguments[name] = CODEC.freeze(value)
    thread = thread_of(config)
    return AgentDescription(
        name=_name(graph),
        arguments=arguments,
        target=graph,
        method=method,
        thread_id=thread,
        continues=langgraph_threads.earlier(thread) if thread is not None and is_resuming(given) else None,
        attrs=_facts(graph),
    )


def _name(graph: Any) -> str:
    return str(getattr(graph, "name", None) or type(graph).__name__)


def _facts(graph: Any) -> dict[str, object]:
    checkpointer = getattr(graph, "checkpointer", None)
    return (
        {} if checkpointer is None or isinstance(checkpointer, bool) else {"checkpointer": type(checkpointer).__name__}
    )


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Mapping[str, Any] | None]:
    given = args[1] if len(args) > 1 else kwargs.get("input")
    config = args[2] if len(args) > 2 else kwargs.get("config")
    return given, config if isinstance(config, Mapping) else None


def is_resuming(given: Any) -> bool:
    """Whether a graph is called to go on: with an answer, or with nothing at all."""
    return given is None or (type(given).__name__ == "Command" and getattr(given, "resume", None) is not None)


def thread_of(config: Mapping[str, Any] | None) -> str | None:
    """The conversation that a configuration names."""
    configurable = config.get("configurable") if config is not None else None
    found = configurable.get("thread_id") if isinstance(configurable, Mapping) else None
    return None if found is None else str(found)


def shown_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without what is the framework's own, and without callbacks."""
    found = {name: CODEC.freeze(config[name]) for name in _CONFIG if config.get(name) is not None}
    configurable = config.get("configurable")
    if isinstance(configurable, Mapping):
        own = {str(name): value for name, value in configurable.items() if not str(name).startswith("__pregel_")}
        found["configurable"] = CODEC.freeze(own)
    return found


def _thawed(arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    thawed: dict[str, Any] = CODEC.thaw(arguments)
    return (thawed.pop("input", None),), thawed
