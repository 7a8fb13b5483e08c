"""Where threads hand things over: threads, events and semaphores, queues, futures, and what is given to an event loop.

The classes are patched in place when a run starts its first thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from agentdbg.recording.handoff_calls import Seam, get_noted, hooked, put_noted
from agentdbg.recording.handoffs import MARK, Mark, Place, Turn, local, mark_of, place_of, safely, state
from agentdbg.recording.hooks import on_standard_import, replace_everywhere
from agentdbg.recording.loop_arrivals import threadsafe
from agentdbg.recording.pins import real_monotonic_ns

if TYPE_CHECKING:
    from concurrent.futures import Future

_hooked: set[object] = set()
WAITED = "waited"
COMPLETED = "completed"
MOST_LISTED = 64
"""So many futures that are not done are listed, so that a loop of waits over many of them stays cheap."""


def patch() -> None:
    """Patch what is loaded, and the rest when it will be."""
    on_standard_import("threading", _threads)
    on_standard_import("queue", _queues)
    on_standard_import("concurrent.futures._base", _futures)
    on_standard_import("asyncio.base_events", _loops)


def _said_no(_owner: object, value: object, error: BaseException | None) -> bool:
    return error is None and (value is False or value is None)  # an object of the program's own is not asked


def _no(_owner: object) -> bool:
    return False


def _asks(what: str, *, mine: Callable[[Any], bool] | None = None) -> Seam:
    return Seam(what, vain=_said_no, asks=True, mine=mine)


# -- threading ------------------------------------------------------------------------------------


def _threads(module: ModuleType) -> None:
    def of_run(thread: Any) -> bool:
        return state.threads.get(id(thread)) is thread

    def goes_on(thread: Any, _value: object, error: BaseException | None) -> bool:
        return error is None and is_alive(thread) is True

    is_alive, is_set = module.Thread.is_alive, module.Event.is_set
    _hook(
        module.Thread,
        join=Seam("join", vain=goes_on, now=is_alive, again=lambda thread: None, mine=of_run),
        is_alive=_asks("is_alive", mine=of_run),
    )
    _hook(
        module.Event, set=Seam("set", gives=True), clear=Seam("clear", gives=True), is_set=_asks("is_set"),
        wait=Seam("wait", vain=_said_no, now=lambda event: not is_set(event), again=_no),
    )  # fmt: skip
    acquire = Seam("acquire", vain=_said_no, now=lambda semaphore: not semaphore._value, again=_no)
    release = Seam("release", gives=True)
    _hook(module.Semaphore, acquire=acquire, release=release, __enter__=acquire)
    _hook(module.BoundedSemaphore, release=release)


# -- queue ----------------------------------------------------------------------------------------


def _queues(module: ModuleType) -> None:
    def in_vain(problem: type[Exception]) -> Callable[[Any, object, BaseException | None], bool]:
        return lambda _owner, _value, error: type(error) is problem

    def raising(problem: type[Exception]) -> Callable[[Any], object]:
        def again(_owner: object) -> object:
            raise problem

        return again

    full = module.Queue.full
    _hook(
        module.Queue,
        get=Seam(
            "get",
            vain=in_vain(module.Empty),
            now=lambda queue: not queue._qsize(),
            again=raising(module.Empty),
            within=True,
        ),
        put=Seam("put", vain=in_vain(module.Full), now=full, again=raising(module.Full), within=True),
        task_done=Seam("task_done", gives=True),
        join=Seam("all_done"),
        empty=_asks("empty"),
        full=_asks("full"),
    )
    for kind in (module.Queue, module.LifoQueue, module.PriorityQueue):
        _replace_method(kind, "_get", get_noted)
        _replace_method(kind, "_put", put_noted)


# -- concurrent.futures ---------------------------------------------------------------------------


def _futures(module: ModuleType) -> None:
    late = module.TimeoutError

    def not_there(future: Any, _value: object, error: BaseException | None) -> bool:
        return isinstance(error, late) and goes_on(future)

    def goes_on(future: Any) -> bool:
        return future._state in (module.PENDING, module.RUNNING)

    def too_late(_owner: object) -> object:
        raise late

    future = module.Future
    state.members_of = vars(future)["__dict__"].__get__
    _replace_method(future, "__init__", _marked)
    _hook(
        future,
        marked=True,
        set_result=Seam("done", gives=True, loops=True),
        set_exception=Seam("done", gives=True, loops=True),
        set_running_or_notify_cancel=Seam("runs"),
        cancel=Seam("cancel", loops=True),
        add_done_callback=Seam("calls_back", gives=True),
        result=Seam("result", vain=not_there, now=goes_on, again=too_late),
        exception=Seam("result", vain=not_there, now=goes_on, again=too_late),
        done=_asks("is_done"),
        running=_asks("is_running"),
        cancelled=_asks("is_cancelled"),
    )


def _marked(make: Callable[..., None]) -> Callable[..., None]:
    """A future has a name by which a replay finds it; one that is made for what is submitted knows where that runs."""

    @functools.wraps(make)
    def make_marked(self: Any, /, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        if (scope := local.submitting) is not None:
            safely(scope, lambda: state.members_of(self).update({MARK: Mark(scope.lane.path, scope)}))
        elif (place := place_of(loops=True)) is not None:
            safely(place.scope, lambda: state.members_of(self).update({MARK: Mark(place.notes.name(place.lane))}))

    return make_marked


def patch_waits(module: ModuleType) -> None:
    """The functions that wait for several futures; other modules may have them under their own names."""
    replace_everywhere(module, "wait", _wait(module, module.wait))
    replace_everywhere(module, "as_completed", _as_completed(module, module.as_completed))


def _names(futures: Collection[Any]) -> list[str] | None:
    """The names of futures; ``None`` where one has none."""
    found = [mark.name for each in futures if (mark := mark_of(each)) is not None]
    return found if len(found) == len(futures) else None


class _InOrder(set[Any]):
    """A set that is gone through in a given order."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = list(items)
        super().__init__(self._items)

    def __iter__(self) -> Iterator[Any]:
        here = [each for each in self._items if each in self]
        return iter([*here, *(each for each in set.__iter__(self) if each not in here)])

    def pop(self) -> Any:
        for each in self:
            self.remove(each)
            return each
        return super().pop()


def _wait(module: ModuleType, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wait(fs: Any, timeout: Any = None, return_when: Any = module.ALL_COMPLETED) -> Any:
        place = place_of() if state.on else None
        if place is None:
            return original(fs, timeout, return_when)
        fs, keeper = list(fs), state.keeper
        turn = None if keeper is None else keeper.turn(place.lane, WAITED)
        found = None if turn is None else _seen_again(module, turn, fs)
        if found is None:
            try:
                local.busy = True
                found = original(fs, timeout, return_when)
            finally:
                local.busy = False
        seen = turn.value if turn is not None else safely(place.scope, lambda: _seen(found))
        place.note(WAITED, seen)
        if turn is not None and keeper is not None:
            keeper.done(turn)
        return found

    return wait


def _seen(found: Any) -> object:
    done, left = _names(found.done), _names(found.not_done)
    if done is None or left is None:
        return None
    return [done, left if len(left) <= MOST_LISTED else None, real_monotonic_ns()]


def _seen_again(module: ModuleType, turn: Turn, fs: list[Any]) -> Any:
    """What the program saw, of its own futures."""
    value, names = turn.value, _names(fs)
    if not isinstance(value, list) or len(value) != 3 or names is None:
        return None
    known = dict(zip(names, fs, strict=True))
    done, left = value[0], value[1]
    if left is None:
        left = [name for name in known if name not in set(done)]
    if {*done, *left} != set(known):
        return None
    return module.DoneAndNotDoneFutures(*(_InOrder(known[name] for name in each) for each in (done, left)))


def _as_completed(module: ModuleType, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def as_completed(fs: Any, timeout: Any = None) -> Iterator[Future[Any]]:
        place = place_of() if state.on else None
        if place is None:
            yield from original(fs, timeout)
            return
        if state.keeper is not None:
            fs = _InOrder(fs)
            yield from _completed_again(module, place, fs)
        inner = original(fs, timeout)
        del fs
        found: list[Any] = []
        try:
            while _next(inner, found, place):
                yield found.pop()
        finally:
            inner.close()

    return as_completed


def _next(inner: Iterator[Any], found: list[Any], place: Place) -> bool:
    """Wait for the next future that is done."""
    try:
        local.busy = True
        found.append(next(inner))
    except StopIteration:
        return False
    except TimeoutError:
        place.note(COMPLETED, real_monotonic_ns())
        raise
    finally:
        local.busy = False
    names = safely(place.scope, lambda: _names(found))
    place.note(COMPLETED, None if names is None else names[0])
    return True


def _completed_again(module: ModuleType, place: Place, fs: set[Any]) -> Iterator[Any]:
    """The futures in the order in which the program saw them; what is left in ``fs`` has none."""
    keeper, total = state.keeper, len(fs)
    known = {mark.name: each for each in fs if (mark := mark_of(each)) is not None}
    while keeper is not None and known and (turn := keeper.turn(place.lane, COMPLETED)) is not None:
        place.note(COMPLETED, turn.value)
        keeper.done(turn)
        if isinstance(turn.value, int):
            raise module.TimeoutError(f"{len(fs)} (of {total}) futures unfinished")
        found = [known.pop(turn.value)] if turn.value in known else []
        if not found:
            return
        fs.remove(found[0])
        yield found.pop()


# -- asyncio --------------------------------------------------------------------------------------


def _loops(module: ModuleType) -> None:
    base = module.BaseEventLoop
    _replace_method(base, "call_soon_threadsafe", partial(threadsafe, base, module))


# -- how -------------------------------------------------------------------------------------------


def _hook(owner: type, *, marked: bool = False, **seams: Seam) -> None:
    for name, seam in seams.items():
        _replace_method(owner, name, partial(hooked, seam=seam._replace(marked=marked)))


def _replace_method(owner: type, name: str, hook: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method, once. What a program has put in its place that is no function is left there."""
    original = vars(owner).get(name)
    if type(original) is FunctionType and original not in _hooked:
        hook_of_it = hook(original)
        _hooked.add(hook_of_it)
        setattr(owner, name, hook_of_it)
