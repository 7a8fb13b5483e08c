"""Work that is handed to pools of processes: in the worker each task has the run and a lane of who handed it over."""

from __future__ import annotations

from agentdbg.recording import children, starts
from agentdbg.recording import scope as scopes
from agentdbg.recording.child_places import place_here, quiet, scope_of
from agentdbg.recording.wrapping import wraps

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any


class InLane:
    """A function for another process, with the place that it was handed over from."""

    def __init__(self, function: Callable[..., Any], place: dict[str, object]) -> None:
        self.function = function
        self.place = place

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        scope = quiet(lambda: scope_of(self.place))
        if children.told is not None:
            children.told("busy")
        try:
            if scope is None:
                return self.function(*args, **kwargs)
            with scopes.inside(scope):
                return self.function(*args, **kwargs)
        finally:
            if scope is not None and scope.lane.draws:
                quiet(lambda: scope.run.flush_draws(scope.lane))
            if children.told is not None:
                children.told("idle")


def _handed_over(function: Callable[..., Any]) -> Callable[..., Any]:
    place = quiet(place_here) if scopes.here() is not None else None
    return function if place is None else InLane(function, place)


def patch_executor(module: ModuleType) -> None:
    pool = module.ProcessPoolExecutor
    submit = pool.submit

    @wraps(submit)
    def submit_in_lane(self: object, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        handed, starts.now.behind = _handed_over(fn), scopes.here()
        token = scopes.enter(None)  # a worker that this starts outlives the run
        try:
            return submit(self, handed, *args, **kwargs)
        finally:
            scopes.leave(token)
            starts.now.behind = None

    pool.submit = submit_in_lane


def patch_pool(module: ModuleType) -> None:
    pool = module.Pool
    make = pool.__init__

    @wraps(make)
    def make_outside(*args: Any, **kwargs: Any) -> None:
        starts.now.behind = scopes.here()
        try:
            with scopes.inside(None):
                make(*args, **kwargs)
        finally:
            starts.now.behind = None

    pool.__init__ = make_outside
    pool.apply_async = _once_in_lane(pool.apply_async, module)
    for name in ("_map_async", "imap", "imap_unordered"):
        setattr(pool, name, _each_in_lane(getattr(pool, name), module))


class EachInLane(InLane):
    """The same for the items of a ``map``: each comes with its number, which makes a lane of its own."""

    def __init__(self, function: Callable[..., Any], place: dict[str, object], *, unpacked: bool) -> None:
        super().__init__(function, place)
        self.unpacked = unpacked

    def __call__(self, *numbered: Any) -> Any:
        number, *items = numbered if self.unpacked else numbered[0]
        place = {**self.place, "lane": f"{self.place['lane']}.{number}", "forked_at": 0}
        return InLane(self.function, place)(*items)


def _each_in_lane(method: Callable[..., Any], module: ModuleType) -> Callable[..., Any]:
    @wraps(method)
    def with_lanes(self: object, func: Callable[..., Any], iterable: Any, *args: Any, **kwargs: Any) -> Any:
        handed = func if isinstance(self, module.ThreadPool) else _handed_over(func)  # threads have lanes already
        if not isinstance(handed, InLane):
            return method(self, func, iterable, *args, **kwargs)
        unpacked = getattr(args[0] if args else kwargs.get("mapper"), "__name__", "") == "starmapstar"
        each = EachInLane(func, handed.place, unpacked=unpacked)
        numbered = ((number, *item) if unpacked else (number, item) for number, item in enumerate(iterable))
        counted = list(numbered) if hasattr(iterable, "__len__") else numbered
        return method(self, each, counted, *args, **kwargs)

    return with_lanes


def _once_in_lane(method: Callable[..., Any], module: ModuleType) -> Callable[..., Any]:
    @wraps(method)
    def with_lane(self: object, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return method(self, func if isinstance(self, module.ThreadPool) else _handed_over(func), *args, **kwargs)

    return with_lane
