"""Notes where the timers of event loops fire among a run's calls, so that a replay lets them fire there.

How often a program polled, which of its calls came before a deadline: that hangs on milliseconds, and no replay has
those. Each firing of a timer that the program set, or asyncio for it, is therefore noted like a hand-off between
threads (`agentdbg.recording.handoffs`), with its turn among the outcomes of its loop (`agentdbg.recording.turns`).
Timers of network libraries, and those inside a call whose outcome a replay serves as a whole, are not noted.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType, ModuleType
from typing import Any, Protocol

from agentdbg.recording import pins
from agentdbg.recording import scope as scopes
from agentdbg.recording.handoffs import Notes, Place, safely, settled, state
from agentdbg.recording.loop_steps import FromOutside
from agentdbg.recording.scope import Scope
from agentdbg.recording.turns import arrival

FIRES = "fires"
KNOWN = "timers"
"""From the first of these on the record has the firings of timers."""
_PASSING = sys.stdlib_module_names - {"__main__"} | {"anyio", "async_timeout"}
"""Modules that set timers for whoever calls them."""
_DEPTH = 40
_OURS = ("agentdbg.recording.", "agentdbg.replay.")
"""So do what we have wrapped, which is more in a replay; we ourselves set none."""


class Setter(Protocol):
    """Sets timers in a replay."""

    def set_timer(
        self, loop: Any, lane: str, when: float, callback: Firing, args: tuple[Any, ...], context: Any
    ) -> Any:
        """Set a timer that fires in its recorded place; ``None`` where the record does not say when timers fire."""


def patch(module: ModuleType) -> None:
    """Have loops of asyncio note when timers fire."""
    base = module.BaseEventLoop
    original = base.call_at

    @functools.wraps(original)
    def call_at(self: Any, when: Any, callback: Any, *args: Any, context: Any = None) -> Any:
        here = scopes.here()
        place = None if here is None else safely(here, lambda: _place(here, sys._getframe(3)))
        if place is None or not callable(callback):
            return original(self, when, callback, *args, context=context)
        callback, setter = Firing(self, place, callback), state.timers
        timer = None if setter is None else setter.set_timer(self, place.lane, when, callback, args, context)
        return original(self, when, callback, *args, context=context) if timer is None else timer

    base.call_at = call_at


def _place(here: Scope, frame: FrameType | None) -> Place | None:
    """Where a timer is set; ``None`` where its firing is not noted."""
    found = settled(here)
    if found is None or found.inside_tool or found.inside_http or found.run.is_child or not is_of_program(frame):
        return None
    notes = found.run.handoffs
    if notes is None:
        with state.lock:
            found.run.handoffs = notes = found.run.handoffs or Notes()
    if notes.closed and state.timers is None:
        return None
    if not notes.timers and (found.run.recorder.answerer is None or state.timers is not None):
        notes.timers = True
        notes.add("", KNOWN)
    return Place(notes, f"{found.lane.path}/{FIRES}", found)


def is_of_program(frame: FrameType | None) -> bool:
    """Whether it is the program that sets a timer or the like, or a library that does so in a replay too."""
    for _ in range(_DEPTH):
        if frame is None:
            return False
        name = frame.f_globals.get("__name__")
        if type(name) is not str:
            return False
        if name.partition(".")[0] not in _PASSING and not name.startswith(_OURS):
            return not pins.is_quiet(name)
        frame = frame.f_back
    return False


class Firing(FromOutside):
    """What a timer calls; whatever else it is asked for, the callback answers.

    Attributes:
        number: Which of the timers set in its lane it is.
        value: What a replay notes of it: as it was recorded.
    """

    def __init__(self, loop: Any, place: Place, callback: Callable[..., object]) -> None:
        self.__wrapped__ = callback
        self.value: object = None
        self.number = safely(place.scope, partial(place.notes.count, place.lane))
        self._loop = loop
        self._place = place

    def __call__(self, *args: Any) -> None:
        safely(self._place.scope, self._note)
        self.__wrapped__(*args)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def _note(self) -> None:
        value = self.value
        if self._place.scope.run.recorder.answerer is None:
            loop, _, *counted = arrival(self._loop, self._place.scope.run)
            value = [loop, *counted, self.number]
        if value is not None:
            self._place.notes.add(self._place.lane, FIRES, value)
