"""What a timer of an event loop would cancel when it fires: deadlines of asyncio, anyio and async_timeout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agentdbg.recording.firings import Firing

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import FrameType

_REACH = 1000
_LIBRARIES = frozenset(("asyncio", "anyio", "async_timeout"))


def cancelled_by(loop: AbstractEventLoop, timer: Any) -> Iterator[Any]:
    """The tasks and futures that a timer would cancel, at once or by what it cancels."""
    return _reach(list(_cancelled_by(loop, timer)))


def _cancelled_by(loop: AbstractEventLoop, timer: Any) -> Iterator[Any]:
    """The tasks and futures that a timer's callback would cancel."""
    callback, args = timer._callback, timer._args or ()
    callback = callback.__wrapped__ if isinstance(callback, Firing) else callback
    owner = getattr(callback, "__self__", None)
    library = type(owner).__module__.partition(".")[0]
    name = getattr(callback, "__name__", "")
    if name == "cancel" and (library in _LIBRARIES or hasattr(owner, "_fut_waiter")):
        yield owner
    elif library in _LIBRARIES:
        yield from (each for each in (getattr(owner, key, None) for key in ("_task", "_host_task")) if each is not None)
        yield from list(getattr(owner, "_tasks", None) or ())
        yield from (each for each in args if hasattr(each, "_fut_waiter"))
    elif name == "_release_waiter" and args:
        import asyncio

        for task in asyncio.all_tasks(loop):
            frame = _innermost(task) if getattr(task, "_fut_waiter", None) is args[0] else None
            if frame is not None and frame.f_code.co_name == "wait_for":  # before Python 3.12
                yield frame.f_locals.get("fut")


def _reach(left: list[Any]) -> Iterator[Any]:
    """Tasks and futures, and what they in turn would cancel."""
    seen: set[int] = set()
    while left and len(seen) < _REACH:
        each = left.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left.append(getattr(each, "_fut_waiter", None))
        left.extend(getattr(each, "_children", None) or ())
        frame = _innermost(each)
        group = None if frame is None else frame.f_locals.get("self")
        if type(group).__module__.partition(".")[0] in _LIBRARIES:
            left.extend(getattr(group, "_tasks", None) or ())


def _innermost(task: Any) -> FrameType | None:
    """Where a task waits."""
    with suppress(AttributeError):
        inner = task.get_coro()
        while hasattr(getattr(inner, "cr_await", None), "cr_frame"):
            inner = inner.cr_await
        frame: FrameType | None = inner.cr_frame
        return frame
    return None
