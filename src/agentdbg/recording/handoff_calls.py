"""Methods that hand something over: noted in a recording, kept to the recorded order in a replay.

What the program called does what it always did, whatever becomes of the note: a method is noted around the original,
which gets the same arguments, and errors of the recorder's end in here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from agentdbg.recording.handoffs import Place, Turn, local, place_of, safely, state
from agentdbg.recording.pins import real_monotonic_ns

_BLOCKED_NS = 1_000_000


class Seam(NamedTuple):
    """One kind of hand-off.

    Attributes:
        what: Its name in the record.
        gives: It lets others go on, and so is noted before it has its effect.
        vain: Whether it was waited or asked for in vain, by object, returned value and error.
        now: Whether it would be in vain now, without doing it; asked in a replay where it was recorded to be in vain.
        again: What it does there; the method itself when not given.
        asks: It asks and does nothing: a replay gives the recorded answer.
        within: It is noted by a part of the method that runs under the object's own lock.
        mine: Whether an object counts at all.
        loops: It counts where ``asyncio`` does it, too: it is not just what follows from something else.
        marked: The object is a future, which says where it belongs where no run is around.
    """

    what: str
    gives: bool = False
    vain: Callable[[Any, object, BaseException | None], bool] | None = None
    now: Callable[[Any], bool] | None = None
    again: Callable[[Any], object] | None = None
    asks: bool = False
    within: bool = False
    mine: Callable[[Any], bool] | None = None
    loops: bool = False
    marked: bool = False


def hooked(original: Callable[..., Any], seam: Seam) -> Callable[..., Any]:
    """A method that hands something over."""
    what, mine, asks, loops, marked = seam.what, seam.mine, seam.asks, seam.loops, seam.marked

    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            place = place_of(self if marked else None, loops=loops)
        except RecursionError:
            place = None  # the original may have enough of the stack
        if place is None:
            return original(self, *args, **kwargs)
        if mine is not None and not mine(self):
            return _unnoticed(original, self, args, kwargs)
        if asks and state.keeper is None:
            return _asked(place, what, original, self, args, kwargs)
        try:
            return _through(place, seam, original, self, args, kwargs)
        finally:
            del self, args, kwargs  # as the originals do: an error's traceback shall not hold what holds the error

    return method


def _asked(
    place: Place, what: str, original: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """It is asked for, which does nothing. An object of the program's own for an answer is not looked at."""
    value: object = None
    try:
        local.busy = True
        value = original(owner, *args, **kwargs)
        return value
    finally:
        local.busy = False
        place.note(what, False if value is False else None)


def _unnoticed(original: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A thread of a pool, say: how many there are is chance."""
    try:
        local.busy = True
        return original(owner, *args, **kwargs)
    finally:
        local.busy = False


def _through(
    place: Place,
    seam: Seam,
    original: Callable[..., Any],
    owner: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Do it, noted. A signal's handler may raise anywhere in here, and nothing of it may be left behind then."""
    keeper = state.keeper
    turn = None if keeper is None else keeper.turn(place.lane, seam.what)
    value: object = None
    error: BaseException | None = None
    began = 0 if seam.asks or seam.vain is None else real_monotonic_ns()
    try:
        local.busy, local.acting = True, place.scope
        if turn is not None and keeper is not None:
            turn = turn if _as_recorded(seam, turn, original, owner) or not keeper.doubt(turn) else None
        if seam.gives:
            place.note(seam.what)
        elif seam.within:
            local.within = place.notes, place.notes.made(place.lane, seam.what)
        if turn is not None and seam.asks:
            value = not turn.in_vain
        elif turn is not None and turn.in_vain and seam.again is not None:
            value = seam.again(owner)
        else:
            value = original(owner, *args, **kwargs)
        return value
    except BaseException as problem:
        error = problem
        raise
    finally:
        noted = seam.gives or (seam.within and local.within is None)
        local.busy, local.acting, local.within = False, None, None
        if not noted and seam.vain is None:
            place.note(seam.what)
        elif not noted:
            safely(place.scope, partial(_note, place, seam, turn, began, (owner, value, error)))
        if turn is not None and keeper is not None:
            keeper.done(turn)
        del owner, args, kwargs, value, error


def _note(
    place: Place, seam: Seam, turn: Turn | None, began: int, came: tuple[Any, object, BaseException | None]
) -> None:
    vain = seam.vain is not None and seam.vain(*came)
    place.note(seam.what, _told(turn, began, asks=seam.asks) if vain else None)


def _as_recorded(seam: Seam, turn: Turn, original: Callable[..., Any], owner: Any) -> bool:
    """Whether the state of the object agrees with what was recorded."""
    if seam.asks:
        return bool(original(owner)) is not turn.in_vain
    return not turn.in_vain or seam.now is None or seam.now(owner)


def _told(turn: Turn | None, began: int, *, asks: bool) -> object:
    """When it was known that it was in vain; ``False`` where nothing was waited for."""
    if turn is not None and turn.in_vain:
        return turn.value
    if asks:
        return False
    now = real_monotonic_ns()
    return now if now - began >= _BLOCKED_NS else False


def put_noted(original: Callable[[Any, Any], object]) -> Callable[[Any, Any], object]:
    """The part of ``put`` that runs under the queue's lock, where the order of threads is settled."""

    @functools.wraps(original)
    def method(self: Any, item: Any) -> object:
        value = original(self, item)
        if local.within is not None:
            _keep()
        return value

    return method


def get_noted(original: Callable[[Any], object]) -> Callable[[Any], object]:
    """The same part of ``get``."""

    @functools.wraps(original)
    def method(self: Any) -> object:
        value = original(self)
        if local.within is not None:
            _keep()
        return value

    return method


def _keep() -> None:
    """Makes nothing that the garbage collection would count, see `Notes.made`."""
    within = local.within
    if within is not None:
        local.within = None
        within[0].keep(within[1])
