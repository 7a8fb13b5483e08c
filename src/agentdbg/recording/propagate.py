"""Threads, pools and tasks started inside a run keep that run, each in a lane of its own.

Only the recorder's scope travels; no other context variable does, so nothing else changes for the agent.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from agentdbg.recording import scope as scopes

_installed: set[str] = set()


def install() -> None:
    """Patch what is loaded by now; call again when more may have been loaded. Idempotent and cheap."""
    if "threading" not in _installed:
        _installed.add("threading")
        threading.Thread.start = _thread_start(threading.Thread.start)  # type: ignore[method-assign]
    if "futures" not in _installed and "concurrent.futures.thread" in sys.modules:
        _installed.add("futures")
        pool = sys.modules["concurrent.futures.thread"].ThreadPoolExecutor
        pool.submit = _submit(pool.submit)
    if "asyncio" not in _installed and "asyncio.base_events" in sys.modules:
        _installed.add("asyncio")
        loop = sys.modules["asyncio.base_events"].BaseEventLoop
        loop.create_task = _create_task(loop.create_task)


def _thread_start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_in_lane(self: threading.Thread) -> None:
        here = scopes.current()
        if here is not None:
            self.run = scopes.carried(here.forked(), self.run)  # type: ignore[method-assign]
        start(self)

    return start_in_lane


def _submit(submit: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(submit)
    def submit_in_lane(self: object, fn: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        here = scopes.current()
        return submit(self, fn if here is None else scopes.carried(here.forked(), fn), *args, **kwargs)

    return submit_in_lane


def _create_task(create_task: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create_task)
    def create_task_in_lane(self: object, coro: object, **kwargs: Any) -> object:
        here = scopes.current()
        if here is not None and kwargs.get("context") is None:
            context = contextvars.copy_context()
            context.run(scopes.enter, here.forked())
            kwargs["context"] = context
        return create_task(self, coro, **kwargs)

    return create_task_in_lane
