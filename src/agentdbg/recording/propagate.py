"""Threads, pools, tasks and forked children started inside a run keep that run, each in a lane of its own.

Only the recorder's scope travels; no other context variable does, so nothing else changes for the agent.
"""

from __future__ import annotations

import _thread
import functools
import operator
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from types import ModuleType
from typing import Any

from agentdbg.recording import handoffs, hashes
from agentdbg.recording import scope as scopes
from agentdbg.recording.hooks import replace_everywhere
from agentdbg.recording.scope import Scope

_SHARED = frozenset(("anyio._backends._asyncio",))
"""Modules whose threads serve many callers, and run each of them in its own context."""
_forking: list[Scope | None] = []


def patch_threads(module: ModuleType) -> None:
    """Threads, those of the bare ``_thread`` too."""
    module.Thread.start = _thread_start(module.Thread.start)
    for name in ("start_new_thread", "start_new"):  # raw ones; ``threading`` has taken the original by now
        setattr(_thread, name, _raw_start(getattr(_thread, name)))


def before_fork() -> None:
    """The code that forks: its child will go on in a lane of its own."""
    here = scopes.here()
    _forking.append(None if here is None else here.forked())


def after_fork_in_parent() -> None:
    """Nothing changes for the code that forked."""
    _forking.pop()


def after_fork_in_child() -> None:
    """Move the child into its lane."""
    scopes.enter(_forking[-1])
    _forking.clear()
    handoffs.after_fork()


def patch_pools(module: ModuleType) -> None:
    """Pools of threads of ``concurrent.futures``."""
    pool = module.ThreadPoolExecutor
    pool.submit = _submit(pool.submit)


def patch_thread_pools(module: ModuleType) -> None:
    """Pools of threads of ``multiprocessing``."""
    pool = module.ThreadPool
    pool.__init__ = _outside(pool.__init__)
    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
        setattr(pool, name, _each_in_lane(getattr(pool, name)))


def _outside(make: Callable[..., None]) -> Callable[..., None]:
    """The workers of a pool outlive the run that made it."""

    @functools.wraps(make)
    def make_outside(*args: Any, **kwargs: Any) -> None:
        with scopes.inside(None):
            make(*args, **kwargs)

    return make_outside


def _each_in_lane(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def with_lanes(self: object, func: Callable[..., object], *args: object, **kwargs: object) -> object:
        here = scopes.here()
        if here is None:
            return method(self, func, *args, **kwargs)
        handoffs.begin(here)

        def call(*given: object, **keywords: object) -> object:
            return scopes.carried(here.forked(), func)(*given, **keywords)

        return method(self, call, *args, **kwargs)

    return with_lanes


def patch_loops(module: ModuleType) -> None:
    """Tasks of asyncio."""
    loop = module.BaseEventLoop
    loop.create_task = _create_task(loop.create_task)


def patch_uvloop(module: ModuleType) -> None:
    """Tasks of uvloop."""
    loop = module.Loop
    loop.create_task = _create_task(loop.create_task)


def patch_as_completed(module: ModuleType) -> None:
    """Coroutines get their tasks, and so their lanes, in the order they were given; a set of them has none."""
    original = module.as_completed

    @functools.wraps(original)
    def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
        if scopes.here() is None or not isinstance(fs, list | tuple) or not _in_loop(module):
            return original(fs, timeout=timeout)
        return original([module.ensure_future(each) for each in dict.fromkeys(fs)], timeout=timeout)

    replace_everywhere(module, "as_completed", as_completed)


def _in_loop(module: ModuleType) -> bool:
    return module.events._get_running_loop() is not None


def _thread_start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_in_lane(self: threading.Thread) -> None:
        here = scopes.here()
        if here is None or self.ident is not None or type(self).__module__ in _SHARED:
            return start(self)
        members = vars(self)
        own = members.get("run")
        handoffs.begin(here)
        handoffs.begins(self)
        busy = handoffs.local.busy
        try:
            members["run"] = _carried_run(self, here.forked(), self.run, own)
            handoffs.local.busy = True
            start(self)
        except BaseException:
            _restore_run(self, own)
            raise
        finally:
            handoffs.local.busy = busy
        return None

    return start_in_lane


def _raw_start(start: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(start)
    def start_in_lane(function: Callable[..., object], *given: Any) -> int:
        here = scopes.here()
        if here is None or not callable(function):
            return start(function, *given)
        return start(scopes.carried(here.forked(), function), *given)

    return start_in_lane


def _carried_run(
    thread: threading.Thread, scope: Scope, run: Callable[[], None], own: Callable[[], None] | None
) -> Callable[[], None]:
    """``run`` in a scope. Made of C alone, which leaves no frame in the traceback of a thread that dies."""
    context = Context()  # as that of any thread, but for the scope
    context.run(scopes.enter, scope)
    restore = functools.partial(_restore_run, thread, own)  # a thread that holds itself would never be freed
    end = functools.partial(handoffs.ends, scope)
    calls = map(operator.call, (restore, functools.partial(context.run, run), end))
    return functools.partial(deque, calls, 0)  # type: ignore[return-value]  # an empty deque is as good as nothing


def _restore_run(thread: threading.Thread, own: Callable[[], None] | None) -> None:
    if own is None:
        vars(thread).pop("run", None)
    else:
        vars(thread)["run"] = own


def _submit(submit: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(submit)
    def submit_in_lane(self: object, fn: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        here = scopes.here()
        if here is None:
            return submit(self, fn, *args, **kwargs)
        handoffs.begin(here)
        scope, local = here.forked(), handoffs.local
        work, before = _in_lane(scope, fn), local.submitting
        try:  # a signal's handler may raise anywhere in here
            local.submitting = scope
            scopes.enter(None)  # a worker that this starts outlives the run
            future = submit(self, work, *args, **kwargs)
        finally:
            local.submitting = before
            scopes.enter(here)
        hashes.known(here, scope.lane.path, future)
        return future

    return submit_in_lane


def _in_lane(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` in a scope; where it brings its own context, as of ``asyncio.to_thread``, the scope is set there."""
    inner = function.func if isinstance(function, functools.partial) else function
    if not isinstance(getattr(inner, "__self__", None), Context) or getattr(inner, "__name__", "") != "run":
        return scopes.carried(scope, function)
    given, keywords = (function.args, function.keywords) if isinstance(function, functools.partial) else ((), {})

    def run_in_context(*args: Any, **kwargs: Any) -> Any:
        target, *rest = (*given, *args)
        return inner(scopes.carried(scope, target), *rest, **{**keywords, **kwargs})

    return run_in_context


def _create_task(create_task: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create_task)
    def create_task_in_lane(self: object, coro: object, **kwargs: Any) -> object:
        here = scopes.here()
        make = functools.partial(create_task, self, coro, **kwargs)
        if here is None:
            return hashes.first_task(make)
        if kwargs.get("context") is not None:
            return hashes.made(here, hashes.CONTEXT, make)
        forked = here.forked()
        token = scopes.enter(forked)  # the task copies the context it is made in
        try:
            return hashes.made(here, forked.lane.path, make)
        finally:
            scopes.leave(token)

    return create_task_in_lane
