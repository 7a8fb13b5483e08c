"""Intents and outcomes of one ``@agentdbg.tool`` function."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from agentdbg.model.records import Effect, Kind
from agentdbg.recording import launched
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.arguments import Binder
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.process import Recorder, recorder

if TYPE_CHECKING:
    from agentdbg.recording.openers import ToolOpener
    from agentdbg.recording.scope import Scope


class ToolCalls:
    """Opens the calls of one tool."""

    def __init__(self, opener: ToolOpener) -> None:
        self.name = opener.name
        self._options = opener.options
        self._bind = Binder(opener.function)
        self._effect = None if opener.options.effect is None else Effect(opener.options.effect)

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
        scope = scopes.current()
        if scope is None:
            scope = found.outer_scope()
            if scope is None:
                return None
        if scope.tool_name == self.name:
            return None  # the framework's tool of that name is this function
        if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
            raise stop
        run = scope.run
        if self._options.volatile:
            run.declare_volatile(self.name, self._options.volatile)
        arguments = self._bind(args, kwargs)
        members = self._members(scope, arguments)
        launched.met_tool(self.name)
        effect = self._effect or found.effect_of(self.name)
        step = run.begin(scope, Kind.TOOL, self.name, run.encode(arguments), effect=effect, members=members)
        if step.call is not None:
            key = cast("str | None", members.get("key"))
            step.call = replace(step.call, key=key, given=arguments, rebinds=self._bind.rebinds)
        active = ActiveCall(found, scope, step, scope.below(step.id, tool=True))
        if found.answerer is not None:
            active.rebind = partial(self._bind.rebound, args, kwargs)
        return active

    def _members(self, scope: Scope, arguments: dict[str, Any]) -> dict[str, object]:
        members: dict[str, object] = {}
        wanted = self._options.key
        if wanted is not None:
            try:
                key = arguments.get(wanted) if isinstance(wanted, str) else wanted(**arguments)
                members["key"] = scope.run.gate.text(str(key))
            except Exception as error:  # the agent's function; the call itself is recorded all the same
                let_through(error)
                members["attrs"] = {"key_problem": type(error).__name__}
        if self._effect is None:
            members["attrs"] = {"effect_declared": False}
        return members
