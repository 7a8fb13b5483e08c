"""Agents of smolagents: ``run`` is a run, or below another agent a step; so is each managed agent's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agentdbg.recording import drive
from agentdbg.recording.framework_calls import AgentDescription, FrameworkAgent
from agentdbg.recording.frameworks.patches import missing, replace_method
from agentdbg.recording.frameworks.smolagents_tools import AgentTypeCodec
from agentdbg.recording.revive import freeze

_PARAMETERS = ("self", "task", "stream", "reset", "images", "additional_args", "max_steps", "return_full_result")
_SHOWN = ("reset", "max_steps")


def install(module: ModuleType) -> None:
    """Patch ``smolagents.agents``. Idempotent."""
    if not replace_method(module.MultiStepAgent, "run", _running):
        missing("smolagents", "MultiStepAgent.run")


def _running(original: Callable[..., Any]) -> Callable[..., Any]:
    whole = drive.function(_AGENT, original)

    def run(*args: Any, **kwargs: Any) -> Any:
        if not _given(args, kwargs).get("stream"):
            return whole(*args, **kwargs)
        source = original(*args, **kwargs)  # what it does before the first step it does at once
        return drive.generator(_STREAM, lambda *_args, **_kwargs: source)(*args, **kwargs)

    return run


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(_PARAMETERS, args, strict=False)), **kwargs}


def _described(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AgentDescription:
    given = _given(args, kwargs)
    agent = given["self"]
    shown = {"task": given.get("task"), **{name: given[name] for name in _SHOWN if name in given}}
    if given.get("additional_args"):
        shown["additional_args"] = freeze(dict(given["additional_args"]))
    if given.get("images"):
        shown["images"] = len(given["images"])
    return AgentDescription(
        str(getattr(agent, "name", None) or type(agent).__name__),
        shown,
        target=agent if method and not given.get("images") else None,
        method=method,
        attrs={"framework": "smolagents"},
    )


class _ResultCodec(AgentTypeCodec):
    """The final answer; of a stream, what each step came to."""

    def freeze(self, value: Any) -> object:
        """Without what the steps hold beside: messages, times, token counts."""
        kind = type(value).__name__
        if kind == "RunResult":
            return self.freeze(value.output)
        if kind == "AgentText":
            return str(value.to_raw())  # nobody makes it again: a replay runs agents
        if kind == "FinalAnswerStep":
            return {
                "type": kind,
                "output": super().freeze(getattr(value, "output", getattr(value, "final_answer", None))),
            }
        if type(value).__module__.startswith("smolagents.") and not self.covers(value):
            found = {name: getattr(value, name, None) for name in ("step_number", "observations", "content", "plan")}
            error = getattr(value, "error", None)
            told = {name: item for name, item in found.items() if isinstance(item, str | int)}
            return {"type": kind, **told, **({"error": type(error).__name__} if error is not None else {})}
        return super().freeze(value)


_AGENT = FrameworkAgent(functools.partial(_described, "run"), _ResultCodec())
_STREAM = FrameworkAgent(functools.partial(_described, ""), _ResultCodec())
