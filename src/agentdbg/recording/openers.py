"""What is known of a wrapped function when it is decorated. Light: the recorder is loaded by the first call, not by the import of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from agentdbg.recording.active import ActiveCall

EFFECTS = ("none", "read", "write", "external")


class AgentOptions(NamedTuple):
    """Options of ``@agent``; ``versions`` by group (``agent``, ``prompt``, …)."""

    name: str | None
    thread_id: str | Callable[..., str | None] | None
    tags: Mapping[str, str]
    factories: Mapping[str, Callable[[], object]]
    versions: Mapping[str, str]


class ToolOptions(NamedTuple):
    """Options of ``@tool``; ``volatile`` as full paths, ``effect`` ``None`` when undeclared."""

    effect: str | None
    name: str | None
    key: str | Callable[..., object] | None
    dry_run: Callable[..., object] | None
    status: Callable[..., object] | None
    volatile: tuple[str, ...]


class AgentOpener:
    """Opens the calls of one agent."""

    def __init__(self, function: Callable[..., Any], options: AgentOptions) -> None:
        self.function = function
        self.options = options
        self.name = options.name or name_of(function)
        self.open: Callable[[tuple[Any, ...], dict[str, Any]], ActiveCall | None] = self._first
        try:
            function.__agentdbg_agent__ = self  # type: ignore[attr-defined]  # a replay finds the factories here
        except (AttributeError, TypeError):
            pass  # a built-in function or a slotted object: it has no factories to find

    @property
    def factories(self) -> Mapping[str, Callable[[], object]]:
        """Functions that make arguments again for a replay."""
        return self.options.factories

    def _first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ActiveCall | None:
        from agentdbg.recording.agent_calls import AgentCalls

        self.open = AgentCalls(self).open
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
        from agentdbg.recording.tool_calls import ToolCalls

        self.open = ToolCalls(self).open
        return self.open(args, kwargs)


REGISTRY: dict[str, ToolOpener] = {}
"""Tools of this process by name, for dry runs and status look-ups."""


def name_of(function: Callable[..., Any]) -> str:
    """Name of a function, or of what a partial or a callable object stands for."""
    target = getattr(function, "func", function)
    found = getattr(function, "__name__", None) or getattr(target, "__name__", None)
    return found if isinstance(found, str) else type(function).__name__
