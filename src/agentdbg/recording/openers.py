"""What is known of a function when it is decorated. Light: the recorder is loaded by the first call."""

from __future__ import annotations

from contextlib import suppress

from agentdbg.recording.interrupts import let_through

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from agentdbg.recording.active import ActiveCall

EFFECTS = ("none", "read", "write", "external")


class AgentOptions:
    """Options of ``@agent``; ``versions`` by group (``agent``, ``prompt``, …)."""

    __slots__ = ("factories", "name", "resume", "tags", "thread_id", "versions")

    def __init__(
        self,
        *,
        name: str | None,
        thread_id: str | Callable[..., str | None] | None,
        tags: Mapping[str, str],
        factories: Mapping[str, Callable[[], object]],
        versions: Mapping[str, str | Callable[..., object]],
        resume: str | Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.thread_id = thread_id
        self.tags = tags
        self.factories = factories
        self.versions = versions
        self.resume = resume


class ToolOptions:
    """Options of ``@tool``; ``volatile`` as full paths, ``effect`` ``None`` when undeclared."""

    __slots__ = ("dry_run", "effect", "key", "name", "status", "volatile")

    def __init__(
        self,
        *,
        effect: str | None,
        name: str | None,
        key: str | Callable[..., object] | None,
        dry_run: Callable[..., object] | None,
        status: Callable[..., object] | None,
        volatile: tuple[str, ...],
    ) -> None:
        self.effect = effect
        self.name = name
        self.key = key
        self.dry_run = dry_run
        self.status = status
        self.volatile = volatile


class AgentOpener:
    """Opens the calls of one agent."""

    def __init__(self, function: Callable[..., Any], options: AgentOptions) -> None:
        self.function = function
        self.options = options
        self.name = options.name or name_of(function)
        self.open: Callable[[tuple[Any, ...], dict[str, Any]], ActiveCall | None] = self._first
        with suppress(AttributeError, TypeError):  # a built-in function or a slotted object has no factories to find
            function.__agentdbg_agent__ = self  # type: ignore[attr-defined]  # a replay looks here

    @property
    def factories(self) -> Mapping[str, Callable[[], object]]:
        """Functions that make arguments again for a replay."""
        return self.options.factories

    def _first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        try:
            from agentdbg.recording.agent_calls import AgentCalls

            self.open = AgentCalls(self).open
        except Exception as error:
            let_through(error)
            return None  # a signal handler in the middle of that import: this one call is not recorded
        return self.open(args, kwargs)


class ToolOpener:
    """Opens the calls of one tool."""

    def __init__(self, function: Callable[..., Any], options: ToolOptions) -> None:
        self.function = function
        self.options = options
        self.name = options.name or name_of(function)
        self.open: Callable[[tuple[Any, ...], dict[str, Any]], ActiveCall | None] = self._first
        REGISTRY[self.name] = self

    def _first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        try:
            from agentdbg.recording.tool_calls import ToolCalls

            self.open = ToolCalls(self).open
        except Exception as error:
            let_through(error)
            return None  # a signal handler in the middle of that import: this one call is not recorded
        return self.open(args, kwargs)


REGISTRY: dict[str, ToolOpener] = {}
"""Tools of this process by name, for dry runs and status look-ups."""


def name_of(function: Callable[..., Any]) -> str:
    """Name of a function, or of what a partial or a callable object stands for."""
    target = getattr(function, "func", function)
    found = getattr(function, "__name__", None) or getattr(target, "__name__", None)
    return found if isinstance(found, str) else type(function).__name__
