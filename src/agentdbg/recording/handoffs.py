"""Notes the order in which threads hand things to each other, so that a replay can keep to it.

The record has the order of calls. What threads tell each other in between (a future's result, an item of a queue, an
event that is set) is in no call. Each such *hand-off* is noted with the lane it happened in, in one order for all
threads of a run, and written with the run's next event: a giving one (``put``, ``set_result``) before it has an effect,
a taking one (``get``, ``result``, ``wait``) after. Nothing is noted, and nothing is patched, before a run has its first
thread; nor inside a call whose outcome a replay serves as a whole.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from agentdbg.recording import scope as scopes
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.scope import Lane

if TYPE_CHECKING:
    from agentdbg.recording.firings import Setter
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.scope import Scope

T = TypeVar("T")
MOST = 200_000
"""Hand-offs of a run that are noted; in rows of the same poll each counts once."""
MOST_WAITING = 20_000
"""The same of those that wait for an event to be written with."""
MARK = "_agentdbg"
"""Attribute of a future: its `Mark`."""
IN_LOOP = "/loop"
"""What an event loop calls in a lane may be called beside a thread that is in the same lane."""
CUT = "cut"
RETURNED = "returned"
ENDS = "ends"
_OURS = ("agentdbg.recording", "agentdbg.replay", "agentdbg.store")
_here = scopes.here


class Notes:
    """The hand-offs of one run that are not written yet. Thread-safe.

    Attributes:
        closed: There were too many, and no more are noted.
        threads: Those between threads are noted: from the start of the run's first thread on.
        timers: So are the firings of timers (`agentdbg.recording.firings`).
    """

    def __init__(self) -> None:
        self.closed = self.threads = self.timers = False
        self._lock = threading.RLock()
        self._waiting: deque[list[Any]] = deque()
        self._left = MOST
        self._made: dict[str, int] = {}

    def name(self, lane: str) -> str:
        """A name for a future that is made in a lane."""
        return f"{lane}#{self.count(lane)}"

    def count(self, lane: str) -> int:
        """The number of one more that is made in a lane."""
        with self._lock:
            self._made[lane] = number = self._made.get(lane, 0) + 1
        return number

    def add(self, lane: str, what: str, value: object = None) -> None:
        """Something was handed over; the same poll again and again is one note."""
        with self._lock:
            waiting = self._waiting
            if waiting:
                last = waiting[-1]
                if last[1] == what and last[2] == value and last[0] == lane:
                    last[3] += 1
                    return
            self.keep(self.made(lane, what, value))

    def made(self, lane: str, what: str, value: object = None) -> list[Any]:
        """A note to be kept later on, where nothing may be made: under a lock of the program's. What is made may set
        off the garbage collection, and what that calls may want the lock."""
        if len(self._waiting) >= MOST_WAITING or self._left <= 0:
            with self._lock:
                self._are_too_many()
        return [lane, what, value, 1]

    def keep(self, note: list[Any]) -> None:
        """Keep a note. Takes no lock, for which something is made, too."""
        if not self.closed:
            self._left -= 1
            self._waiting.append(note)

    def _are_too_many(self) -> None:
        before, found = len(self._waiting), self._taken()
        self._waiting.extendleft(reversed(found))
        self._left += before - len(found)
        if not self.closed and (len(found) > MOST_WAITING // 2 or self._left <= 0):
            self.closed = True
            self._waiting.append(["", CUT, None, 1])

    def _taken(self) -> list[list[Any]]:
        """What waits, taken from there; equal notes in a row are one."""
        found: list[list[Any]] = []
        for _ in range(len(self._waiting)):
            note = self._waiting.popleft()
            if found and found[-1][:3] == note[:3]:
                found[-1][3] += note[3]
            else:
                found.append(note)
        return found

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
            found = self._taken()
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


class Arrival(Protocol):
    """What a thread gave an event loop."""

    def come(self) -> bool:
        """Let it come now, in its loop, if it can. Whether it has come."""


class Keeper(Protocol):
    """Keeps a replay to the recorded order."""

    def turn(self, lane: str, what: str) -> Turn | None:
        """Block until the lane's next hand-off may happen; ``None`` when there is no order to keep to any more."""

    def done(self, turn: Turn) -> None:
        """It has happened."""

    def doubt(self, turn: Turn) -> bool:
        """It cannot be as recorded, as far as is seen here. Whether the order is let go for that."""

    def handed(self, lane: str, arrival: Arrival) -> None:
        """A thread gives a loop something, which will arrive there."""

    def arrive(self, loop: Any, lane: str, run: Callable[[Turn | None], None]) -> None:
        """What another thread gave a loop has arrived there: run it when its turn has come."""


class Mark:
    """What a future carries: how the record calls it, and where what it stands for runs.

    It keeps no run alive, as a program may keep its futures, and is nothing in a copy of a future or in a pickle.
    """

    __slots__ = ("_inside", "_kind", "_lane", "_root", "name")

    def __init__(self, name: str, scope: Scope | None = None) -> None:
        self.name = name
        self._root: weakref.ref[Any] | None = None
        if scope is not None:
            self._root = weakref.ref(scope.run)
            self._kind, self._lane = type(scope), scope.lane.path
            self._inside = scope.inside_tool, scope.inside_http

    def scope(self) -> Scope | None:
        """Where what the future stands for runs; ``None`` where that is not known, or its run is gone."""
        root = None if self._root is None else self._root()
        return None if root is None else self._kind(root, None, Lane(self._lane), *self._inside)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()


class Place(NamedTuple):
    """Where a hand-off happens."""

    notes: Notes
    lane: str
    scope: Scope

    def note(self, what: str, value: object = None, *, lane: str | None = None) -> None:
        """Note a hand-off here. Never raises."""
        try:
            self.notes.add(lane or self.lane, what, value)
        except Exception as error:
            fault(self.scope, error)


class _State:
    """Attributes:
    on: A run has begun to note.
    keeper: Keeps to the recorded order, in a replay.
    timers: Sets timers, there.
    threads: The threads of runs by their ``id``, those of pools left out. Nobody is asked for a hash of his own.
    members_of: What an object has for a ``__dict__`` if it is a future, past all that its class may do about that.
    """

    def __init__(self) -> None:
        self.on = False
        self.lock = threading.RLock()
        self.keeper: Keeper | None = None
        self.timers: Setter | None = None
        self.threads: weakref.WeakValueDictionary[int, threading.Thread] = weakref.WeakValueDictionary()
        self.members_of: Callable[[object], dict[str, object]] = vars


class _Local(threading.local):
    busy = False
    acting: Scope | None = None
    submitting: Scope | None = None
    within: tuple[Notes, list[object]] | None = None


state = _State()
local = _Local()


def begin(here: Scope) -> None:
    """A thread of this run is about to start: from now on its hand-offs are noted. Never raises."""
    if not state.on or type(here) is not scopes.Scope or not getattr(here.run.handoffs, "threads", False):
        safely(here, partial(_begin, here))


def _begin(here: Scope) -> None:
    if here.inside_tool or here.inside_http:
        return
    root = holder = cast(Any, here.run)  # of a scope that is in no run yet, what may become one
    begun: RunRecording | None = getattr(root, "begun", None) if type(here) is scopes.Unbegun else root
    if root is not begun and root is not scopes.program_run:
        return  # a request or task of a queue whose run has not begun
    if begun is not None and begun.is_child:
        return  # the order is that of the threads of one process
    with state.lock:
        if not state.on:
            from agentdbg.recording import handoff_seams

            handoff_seams.patch()
            state.on = True
        notes = getattr(root, "handoffs", None) or getattr(begun, "handoffs", None) or Notes()
        notes.threads = True
        holder.handoffs = notes
        if begun is not None and begun.handoffs is None:
            begun.handoffs = notes


def after_fork() -> None:
    """In a forked child: its threads are none of those whose order is kept."""
    state.keeper = state.timers = None
    state.lock = threading.RLock()
    scopes.program_run.handoffs = None


def begins(thread: threading.Thread) -> None:
    """A thread of a run starts, which is none of a pool's."""
    state.threads[id(thread)] = thread


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
        fault(scope, error)
        return None


def fault(scope: Scope | None, error: Exception) -> None:
    """Noting failed. Never raises, but for what a signal handler of the program's raised meanwhile."""
    if type(error) is RecursionError:
        return  # the program is at the end of its stack: nothing more can be called here
    let_through(error)
    with suppress(Exception):
        here = settled(scope)
        if here is not None:
            here.run.recorder.fault(error)


def mark_of(owner: object) -> Mark | None:
    """The mark of a future; ``None`` of anything else."""
    try:
        found = state.members_of(owner).get(MARK)
    except TypeError:
        return None
    return found if type(found) is Mark else None


def place_of(owner: object = None, *, loops: bool = False) -> Place | None:
    """Where the running code stands; ``None`` where hand-offs are not noted. Never raises.

    Args:
        owner: The future whose method was called, two frames up.
        loops: What ``asyncio`` itself does counts too.
    """
    here = _here()
    if here is None:
        mark = None if owner is None else mark_of(owner)
        here = None if mark is None else mark.scope()
        if here is None:
            return None
    if local.busy:
        return None
    try:
        place = place_at(here)
        if place is None or _is_aside(_caller(3), loops):
            return None
        events: Any = sys.modules.get("asyncio.events")
        if events is not None and events._get_running_loop() is not None:
            return Place(place.notes, place.lane + IN_LOOP, place.scope)
        return place
    except Exception as error:
        fault(here, error)
        return None


def _caller(depth: int) -> object:
    """Name of the module whose code has called; there is none where the interpreter did, at its exit say."""
    try:
        return sys._getframe(depth).f_globals.get("__name__")
    except ValueError:
        return ""


@lru_cache(256)
def _is_aside(name: object, loops: bool) -> bool:
    """Whether what the code of that module does is none of the program's own hand-offs."""
    return str(name).startswith(_OURS) or (not loops and str(name).startswith("asyncio."))


def place_at(scope: Scope) -> Place | None:
    """The place of a scope; ``None`` where hand-offs are not noted."""
    here = scope if type(scope) is scopes.Scope else settled(scope)
    if here is None or here.inside_tool or here.inside_http or sys.is_finalizing():
        return None  # at the interpreter's end a thread may have died with the lock of the notes
    notes = here.run.handoffs
    if notes is None or not notes.threads or (notes.closed and state.keeper is None):
        return None
    return Place(notes, here.lane.path, here)


def ends(scope: Scope) -> None:
    """A thread of a run is about to end."""
    place = safely(scope, partial(place_at, scope))
    if place is None:
        return
    keeper = state.keeper
    turn = None if keeper is None else keeper.turn(place.lane, ENDS)
    place.note(ENDS)
    if turn is not None and keeper is not None:
        keeper.done(turn)
