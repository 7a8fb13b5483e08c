"""Notes the order in which threads hand things to each other, so that a replay can keep to it.

The record has the order of calls. What threads tell each other in between (a future's result, an item of a queue, an
event that is set) is in no call. Each such *hand-off* is noted with the lane it happened in, in one order for all
threads of a run, and written with the run's next event: a giving one (``put``, ``set_result``) before it has an effect,
a taking one (``get``, ``result``, ``wait``) after. Nothing is noted, and nothing is patched, before a run has its first
thread; nor inside a call whose outcome a replay serves as a whole.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from agentdbg.recording import scope as scopes
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.pins import real_monotonic_ns

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Scope

T = TypeVar("T")
MOST = 200_000
"""Hand-offs of a run that are noted; in rows of the same poll each counts once."""
MOST_WAITING = 20_000
"""The same of those that wait for an event to be written with."""
MARK = "_agentdbg_scope"
"""Attribute of a future: where what it stands for runs."""
NAME = "_agentdbg_name"
"""Attribute of a future: how the record calls it."""
IN_LOOP = "/loop"
"""What an event loop calls in a lane may be called beside a thread that is in the same lane."""
CUT = "cut"
RETURNED = "returned"
ENDS = "ends"
_OURS = ("agentdbg.recording", "agentdbg.replay", "agentdbg.store")
_BLOCKED_NS = 1_000_000


class Notes:
    """The hand-offs of one run that are not written yet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: list[list[object]] = []
        self._left = MOST
        self._made: dict[str, int] = {}

    def name(self, lane: str) -> str:
        """A name for a future that is made in a lane."""
        with self._lock:
            self._made[lane] = number = self._made.get(lane, 0) + 1
        return f"{lane}#{number}"

    def add(self, lane: str, what: str, value: object = None) -> None:
        """Something was handed over; the same poll again and again is one note."""
        with self._lock:
            if not self._left:
                return
            last = self._waiting[-1] if self._waiting else None
            if last is not None and last[:3] == [lane, what, value]:
                last[3] = cast(int, last[3]) + 1
                return
            self._left -= 1
            if len(self._waiting) >= MOST_WAITING or not self._left:
                self._left, lane, what, value = 0, "", CUT, None
            self._waiting.append([lane, what, value, 1])

    def returned(self, seq: int, *, last: bool) -> None:
        """The program goes on with the outcome of step ``seq``; ``last``: no event was written after it."""
        with self._lock:
            if self._waiting or not last:
                self.add("", RETURNED, seq)

    def beside(self, scope: Scope, members: Mapping[str, object]) -> Mapping[str, object]:
        """An event's members, with the hand-offs that are to be written with it."""
        if not self._waiting or scope.inside_tool or scope.inside_http:
            return members
        with self._lock:
            found, self._waiting = self._waiting, []
        short = [each if each[3] != 1 else each[:3] if each[2] is not None else each[:2] for each in found]
        return {**members, "handoffs": short}


class Turn(Protocol):
    """A recorded hand-off whose turn has come.

    Attributes:
        value: As it was noted.
    """

    value: Any

    @property
    def in_vain(self) -> bool:
        """It was recorded to have been waited or asked for in vain."""


class Keeper(Protocol):
    """Keeps a replay to the recorded order."""

    def turn(self, lane: str, what: str) -> Turn | None:
        """Block until the lane's next hand-off may happen; ``None`` when there is no order to keep to any more."""

    def done(self, turn: Turn) -> None:
        """It has happened."""

    def doubt(self, turn: Turn) -> bool:
        """It cannot be as recorded, as far as is seen here. Whether the order is let go for that."""

    def handed(self, lane: str) -> None:
        """A thread gives a loop something, which will arrive there."""

    def arrive(self, loop: Any, lane: str, run: Callable[[Turn | None], None]) -> None:
        """What another thread gave a loop has arrived there: run it when its turn has come."""


class Place(NamedTuple):
    """Where a hand-off happens."""

    notes: Notes
    lane: str
    scope: Scope

    def note(self, what: str, value: object = None, *, lane: str | None = None) -> None:
        """Note a hand-off here. Never raises."""
        safely(self.scope, partial(self.notes.add, lane or self.lane, what, value))


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


class _State:
    """Attributes:
    on: A run has begun to note.
    keeper: Keeps to the recorded order, in a replay.
    threads: The threads of runs, those of pools left out.
    """

    def __init__(self) -> None:
        self.on = False
        self.keeper: Keeper | None = None
        self.threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


class _Local(threading.local):
    busy = False
    acting: Scope | None = None
    submitting: Scope | None = None
    within: tuple[Place, str] | None = None


state = _State()
local = _Local()


def begin(here: Scope) -> None:
    """A thread of this run is about to start: from now on its hand-offs are noted."""
    if here.inside_tool or here.inside_http:
        return
    root = holder = cast(Any, here.run)  # of a scope that is in no run yet, what may become one
    begun: RunRecording | None = getattr(root, "begun", None) if type(here) is scopes.Unbegun else root
    if root is not begun and root is not scopes.program_run:
        return  # a request or task of a queue whose run has not begun
    if begun is not None and begun.is_child:
        return  # the order is that of the threads of one process
    notes = getattr(root, "handoffs", None) or Notes()
    holder.handoffs = notes
    if begun is not None and begun.handoffs is None:
        begun.handoffs = notes
    if not state.on:
        from agentdbg.recording import handoff_seams

        state.on = True
        handoff_seams.patch()


def after_fork() -> None:
    """In a forked child: its threads are none of those whose order is kept."""
    state.keeper = None
    scopes.program_run.handoffs = None


def settled(here: Any) -> Scope | None:
    """A scope as one of a run: of what may become a run, its place there once it has begun."""
    if type(here) is scopes.Unbegun and here.root is not scopes.program_run:
        return here.begun()
    return cast("Scope | None", here)


def safely(scope: Scope | None, note: Callable[[], T]) -> T | None:
    """What ``note`` gives; ``None``, and a word to the recorder, where it fails: the program never gets to see that."""
    try:
        return note()
    except Exception as error:
        let_through(error)
        with suppress(Exception):
            here = settled(scope)
            if here is not None:
                here.run.recorder.fault(error)
        return None


def place_of(owner: object = None, *, loops: bool = False) -> Place | None:
    """Where the running code stands; ``None`` where hand-offs are not noted. Never raises.

    Args:
        owner: The object whose method was called, two frames up.
        loops: What ``asyncio`` itself does counts too.
    """
    if local.busy:
        return None
    caller = sys._getframe(2).f_globals
    here = scopes.here()
    if here is None and MARK not in getattr(owner, "__dict__", ()):
        return None
    return safely(here, lambda: _place_of(here, owner, caller, loops=loops))


def _place_of(here: Scope | None, owner: object, caller: Mapping[str, Any], *, loops: bool) -> Place | None:
    here = settled(vars(owner).get(MARK) if here is None else here)
    notes = None if here is None else here.run.handoffs
    if here is None or notes is None or here.inside_tool or here.inside_http:
        return None
    name = str(caller.get("__name__", ""))
    if name.startswith(_OURS) or (not loops and name.startswith("asyncio.")):
        return None
    events: Any = sys.modules.get("asyncio.events")
    in_loop = events is not None and events._get_running_loop() is not None
    return Place(notes, here.lane.path + IN_LOOP if in_loop else here.lane.path, here)


def hooked(original: Callable[..., Any], seam: Seam) -> Callable[..., Any]:
    """A method that hands something over."""

    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        place = place_of(self, loops=seam.loops)
        if place is None:
            return original(self, *args, **kwargs)
        if seam.mine is not None and not seam.mine(self):
            return _unnoticed(original, self, args, kwargs)
        try:
            return _through(place, seam, original, self, args, kwargs)
        finally:
            del self, args, kwargs  # as the originals do: an error's traceback shall not hold what holds the error

    return method


def _unnoticed(original: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A thread of a pool, say: how many there are is chance."""
    local.busy = True
    try:
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
    keeper = state.keeper
    turn = None if keeper is None else keeper.turn(place.lane, seam.what)
    value: object = None
    error: BaseException | None = None
    began = real_monotonic_ns()
    local.busy, local.acting = True, place.scope
    try:
        if turn is not None and keeper is not None:
            turn = turn if _as_recorded(seam, turn, original, owner) or not keeper.doubt(turn) else None
        if seam.gives:
            place.note(seam.what)
        elif seam.within:
            local.within = place, seam.what
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
        if not noted:
            safely(place.scope, partial(_note, place, seam, turn, began, (owner, value, error)))
        local.busy, local.acting, local.within = False, None, None
        if turn is not None and keeper is not None:
            keeper.done(turn)
        del owner, args, kwargs, value, error


def _note(
    place: Place, seam: Seam, turn: Turn | None, began: int, came: tuple[Any, object, BaseException | None]
) -> None:
    vain = seam.vain is not None and seam.vain(*came)
    place.note(seam.what, _told(turn, began) if vain else None)


def _as_recorded(seam: Seam, turn: Turn, original: Callable[..., Any], owner: Any) -> bool:
    """Whether the state of the object agrees with what was recorded."""
    if seam.asks:
        return bool(original(owner)) is not turn.in_vain
    return not turn.in_vain or seam.now is None or seam.now(owner)


def ends(scope: Scope) -> None:
    """A thread of a run is about to end."""
    notes = scope.run.handoffs
    if notes is None or scope.inside_tool or scope.inside_http:
        return
    lane, keeper = scope.lane.path, state.keeper
    turn = None if keeper is None else keeper.turn(lane, ENDS)
    Place(notes, lane, scope).note(ENDS)
    if turn is not None and keeper is not None:
        keeper.done(turn)


def _told(turn: Turn | None, began: int) -> object:
    """When it was known that it was in vain; ``False`` where nothing was waited for."""
    if turn is not None and turn.in_vain:
        return turn.value
    now = real_monotonic_ns()
    return now if now - began >= _BLOCKED_NS else False


def noted_within(original: Callable[..., Any]) -> Callable[..., Any]:
    """The part of a method that runs under the object's lock, where the order of threads is settled."""

    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        value = original(self, *args, **kwargs)
        within = local.within
        if within is not None:
            local.within = None
            within[0].note(within[1])
        return value

    return method
