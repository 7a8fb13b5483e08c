"""What other threads give an event loop of ``asyncio``: noted where it arrives among the loop's own callbacks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentdbg.recording.handoffs import Place, Turn, local, mark_of, place_at, place_of, safely, state
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.loop_steps import FromOutside
from agentdbg.recording.pins import real_monotonic_ns
from agentdbg.recording.turns import arrival

if TYPE_CHECKING:
    from asyncio import Handle

ARRIVES = "arrives"


def threadsafe(base: Any, module: ModuleType, original: Callable[..., Any]) -> Callable[..., Any]:
    """The method by which threads give a loop something."""

    @functools.wraps(original)
    def call_soon_threadsafe(self: Any, callback: Any, *args: Any, **kwargs: Any) -> Any:
        place = safely(None, lambda: _submitted(args) or _acting_beside(self, module))
        if place is None and safely(None, lambda: _is_beside(self, module)):
            place = place_of(loops=True)
        if place is None or not callable(callback):
            return original(self, callback, *args, **kwargs)
        if self.get_debug() and not self.is_closed():
            base._check_callback(self, callback, "call_soon_threadsafe")  # as the original does with what it gets
        arrives = _Arrival(self, place, callback)
        if state.keeper is None:
            return original(self, arrives, *args, **kwargs)
        state.keeper.handed(arrives.lane, arrives)
        arrives.handle = handle = original(self, arrives, *args, **kwargs)
        return handle

    return call_soon_threadsafe


def _submitted(args: tuple[Any, ...]) -> Place | None:
    """The place of what was submitted to a pool, where a loop is told that it is done: by the pool's thread, or by its
    own, when it was done before the loop had asked to be told."""
    for each in args:
        mark = mark_of(each)
        scope = None if mark is None else mark.scope()
        if scope is not None:
            return place_at(scope)
    return None


def _is_beside(loop: Any, module: ModuleType) -> bool:
    """Whether the loop runs in another thread than this one."""
    return loop._thread_id not in (None, module.threading.get_ident())


def _acting_beside(loop: Any, module: ModuleType) -> Place | None:
    """The place of a hand-off that goes on in another thread than the loop's: what a future calls belongs to it."""
    return place_at(local.acting) if local.acting is not None and _is_beside(loop, module) else None


class _Arrival(FromOutside):
    """What another thread gave a loop, when the loop comes to it.

    Attributes:
        lane: In which it arrives.
        handle: The loop's, in a replay, once it has one.
    """

    def __init__(self, loop: Any, place: Place, callback: Callable[..., object]) -> None:
        try:
            functools.update_wrapper(self, callback, updated=())  # for whoever shows it
        except Exception as error:
            let_through(error)  # an object that does not like to be asked
        self.lane = f"{place.lane}/{ARRIVES}"
        self.handle: Handle | None = None
        self._loop = loop
        self._place = place
        self._callback: Callable[..., object] | None = callback

    def __call__(self, *args: Any) -> None:
        callback, self._callback = self._callback, None
        if callback is None:
            return  # a replay has let it come already
        keeper = state.keeper
        if keeper is None:
            safely(self._place.scope, self._note_now)
            callback(*args)
            return

        def run(turn: Turn | None) -> None:
            self._place.note(ARRIVES, None if turn is None else turn.value, lane=self.lane)
            callback(*args)

        keeper.arrive(self._loop, self.lane, run)

    def come(self) -> bool:
        """Let it come now, in its loop, if it can. Whether it has come."""
        handle: Any = self.handle
        if handle is None or handle.cancelled() or self._callback is None:
            return False
        handle._run()
        return True

    def _note_now(self) -> None:
        noted = [real_monotonic_ns(), *arrival(self._loop, self._place.scope.run)]
        self._place.note(ARRIVES, noted, lane=self.lane)
