"""Where the running code stands in a graph of LangGraph, and what the graph's state is there."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple


class Frame(NamedTuple):
    """Where the running code stands in a graph: the loop, and the task of the node."""

    loop: Any
    task: Any


running: ContextVar[Any] = ContextVar("agentdbg_langgraph_loop", default=None)
entered: ContextVar[Frame | None] = ContextVar("agentdbg_langgraph_frame", default=None)
resumed: ContextVar[bool] = ContextVar("agentdbg_langgraph_resumed", default=False)
"""A graph was called with nothing, to go on where it had stopped; until its first tick."""


def frame() -> Frame | None:
    """The node that the current code runs in."""
    return entered.get()


def state_of(loop: Any) -> Any:
    """The values of a graph's channels as its users see them."""
    keys = loop.stream_keys
    if isinstance(keys, str):
        return _channel(loop, keys)
    found = {str(key): _channel(loop, key) for key in keys}
    return {key: value for key, value in found.items() if value is not EMPTY}


EMPTY = object()
"""What a channel gives that nothing was written to."""


def _channel(loop: Any, name: str) -> Any:
    with suppress(Exception):  # an empty channel raises; a managed value is none
        return loop.channels[name].get()
    return EMPTY
