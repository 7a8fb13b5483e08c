"""Intents and outcomes of one ``@agentdbg.tool`` function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from agentdbg.model.records import Effect, Kind
from agentdbg.recording import propagate
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.scope import Scope

REGISTRY: dict[str, ToolCalls] = {}
"""Tools of this process by name, for dry runs and status look-ups."""


class ToolCalls:
    """Opens the calls of one tool; options as of ``decorators.tool``."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        effect: str | None = None,
        name: str | None = None,
        idempotency_key: str | Callable[..., object] | None = None,
        dry_run: Callable[..., object] | None = None,
        status: Callable[..., object] | None = None,
        volatile: Sequence[str] = (),
    ) -> None:
        self.name = name or function.__name__
        self.declared = effect
        self.dry_run = dry_run
        self.status = status
        self._key = idempotency_key
        self._volatile = tuple(path if path.startswith("$") else f"$.{path}" for path in volatile)
        self._signature = inspect.signature(function)
        self._effect: Effect | None = None if effect is None else Effect(effect)
        REGISTRY[self.name] = self

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

    def _open(self, found: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        propagate.install()
        scope = scopes.current()
        if scope is None:
            implicit = found.implicit_run()
            if implicit is None:
                return None
            scope = implicit.scope()
        if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
            raise stop
        run = scope.run
        if self._volatile:
            run.declare_volatile(self.name, self._volatile)
        arguments = bound_arguments(self._signature, args, kwargs)
        members = self._members(scope, arguments)
        effect = self._effect or found.effect_of(self.name)
        step = run.begin(scope, Kind.TOOL, self.name, run.encode(arguments), effect=effect, members=members)
        return ActiveCall(found, scope, step, scope.below(step.id, tool=True))

    def _members(self, scope: Scope, arguments: dict[str, Any]) -> dict[str, object]:
        members: dict[str, object] = {}
        if self._key is not None:
            key = arguments.get(self._key) if isinstance(self._key, str) else self._key(**arguments)
            members["key"] = scope.run.gate.text(str(key))
        if self.declared is None:
            members["attrs"] = {"effect_declared": False}
        return members


def bound_arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name, defaults included, without ``self``; as they came when they do not fit."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return {"args": list(args), "kwargs": dict(kwargs)}
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    first = next(iter(arguments), None)
    if first in ("self", "cls"):
        del arguments[first]
    return arguments
