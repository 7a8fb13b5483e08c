"""Where the running code stands in a graph of LangGraph, and what the graph's state is there."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

from agentdbg.recording.active import ActiveCall
from agentdbg.recording.run import RunRecording


class Frame(NamedTuple):
    """Where the running code stands in a graph: the loop, and the task of the node."""

    loop: Any
    task: Any


running: ContextVar[Any] = ContextVar("agentdbg_langgraph_loop", default=None)
entered: ContextVar[Frame | None] = ContextVar("agentdbg_langgraph_frame", default=None)
resumed: ContextVar[bool] = ContextVar("agentdbg_langgraph_resumed", default=False)
"""A graph was called with nothing, to go on where it had stopped; until its first tick."""

waiting: WeakKeyDictionary[RunRecording, set[str]] = WeakKeyDictionary()
"""Tasks of each run that wait for a person."""
streams: WeakValueDictionary[str, ActiveCall] = WeakValueDictionary()
"""By step, the calls of graphs whose items a consumer takes one by one."""


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


def given_so_far(loop: Any, step: str | None) -> int | None:
    """How many items a graph's stream has given, those included that wait to be taken; ``None``: it gives none.

    -1 where that cannot be told.
    """
    active = streams.get(step or "")
    if active is None:
        return None
    put: Any = getattr(loop.stream, "__call__", None)  # noqa: B004  # the attribute is what is wanted
    if (queue := getattr(put, "__self__", None)) is not None:
        return active.given + int(queue.qsize())
    try:
        later = put.args[0]  # put in by the event loop, in its next turn
        import asyncio

        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # asyncio's own loops have it
        return active.given + int(later.__self__.qsize()) + [each._callback for each in ready].count(later)
    except (AttributeError, IndexError, RuntimeError):
        return -1
