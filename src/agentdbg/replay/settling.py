"""Whether a thread or an event loop has done all it can with the outcome it was given last.

Recorded completion order is more than the order of outcomes: what the agent's code did with one outcome it did
before the next one came. A replay has no latencies to keep the two apart, so the next outcome waits until the
receiver of the last one has come to rest: it waits for something, has ended, or asks for its next call.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Container, Mapping
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

from agentdbg.replay.clock import real_monotonic

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_STDLIB = os.path.dirname(os.path.abspath(os.__file__))
_RESTING = {
    os.path.join(_STDLIB, "threading.py"): frozenset(("wait", "acquire", "join", "_wait_for_tstate_lock")),
    os.path.join(_STDLIB, "concurrent", "futures", "thread.py"): frozenset(("_worker",)),
    os.path.join(_STDLIB, "selectors.py"): frozenset(("select",)),
    os.path.join(_STDLIB, "queue.py"): frozenset(("get", "put")),
    os.path.join(_STDLIB, "asyncio", "base_events.py"): frozenset(("_run_once",)),
}


LISTENERS = ("agentdbg.replay.control", "agentdbg.replay.process_link", "agentdbg.replay.processes")
"""Modules of the replay's own threads, which wait for messages."""
SETTLE_S = 0.1
"""How long an outcome waits at most for the rest of the program."""
_LEAST_S = 0.02
_TICK_S = 0.0005
_STILL_S = 0.015
_MOST_S = 1.0
_LOOKS = 2
"""Looks that must find all at rest, with a moment between: one that was just woken still looks as if it waited."""
Wait: TypeAlias = "Callable[[float], object]"


class Threads:
    """The threads that take part in a replay: the one that called the agent, and those that asked."""

    def __init__(self) -> None:
        self._idents = {threading.get_ident()}

    def note(self) -> None:
        """The current thread takes part."""
        self._idents.add(threading.get_ident())

    @property
    def alone(self) -> bool:
        """Whether the current thread is the only one."""
        return len(self._idents) == 1 and threading.get_ident() in self._idents

    def others_rest(self) -> bool:
        """Whether every other thread has ended or waits."""
        return not self._busy()

    def await_rest(self, gap: float, wait: Wait) -> None:
        """Wait until the others rest, or wait for something outside, or have had as much time as while recording.

        Time is the processor's: on a busy machine a thread that could go on may not get to run for long.

        Args:
            gap: Seconds between the recorded outcomes.
            wait: Waits so many seconds, and lets the others go on meanwhile.
        """
        until = time.process_time() + settle_time(gap)
        before: dict[int, tuple[int, int]] = {}
        moved = began = real_monotonic()
        looks = 0
        while time.process_time() < until and (now := real_monotonic()) - began < _MOST_S:
            busy = self._busy()
            looks = 0 if busy else looks + 1
            if looks == _LOOKS:
                return
            if busy != before:
                before, moved = busy, now
            elif busy and now - moved >= _STILL_S and not any(map(_could_run, busy)):
                return
            wait(_TICK_S)

    def _busy(self) -> dict[int, tuple[int, int]]:
        """Where the threads stand that do not rest."""
        me = threading.get_ident()
        frames = sys._current_frames()
        self._idents.intersection_update({me, *frames})
        found = {ident: frames[ident] for ident in self._idents if ident != me}
        return {
            ident: (id(frame), frame.f_lasti)
            for ident, frame in found.items()
            if not _rests(frame) or _could_run(ident)
        }


def others_at_work(but: Container[int]) -> dict[int, tuple[int, int]]:
    """Where those threads of the process stand that neither wait nor are among ``but``; the replay's own wait."""
    me = threading.get_ident()
    return {
        ident: (id(frame), frame.f_lasti)
        for ident, frame in sys._current_frames().items()
        if ident != me and ident not in but and (not (_rests(frame) or _is_ours(frame)) or _could_run(ident))
    }


def can_go_on(places: Mapping[int, tuple[int, int]]) -> bool:
    """Whether one of these threads runs, and does not just wait for the system."""
    return any(map(_could_run, places))


def settle_time(gap: float) -> float:
    """How long to wait for the program to come to rest before an outcome that took ``gap`` seconds while recording."""
    return min(SETTLE_S, max(_LEAST_S, gap))


def thread_rests(ident: int) -> bool:
    """Whether a thread has ended or waits for another."""
    frame = sys._current_frames().get(ident)
    return frame is None or _rests(frame)


def may_go_on(ident: int) -> bool:
    """Whether a thread neither has ended nor waits for another."""
    return not thread_rests(ident) or _could_run(ident)


def _rests(frame: FrameType) -> bool:
    return frame.f_code.co_name in _RESTING.get(frame.f_code.co_filename, ())


def _is_ours(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in LISTENERS


def _could_run(ident: int) -> bool:
    """Whether a thread runs, or was woken and waits for a processor, as far as the system says."""
    thread = threading._active.get(ident)  # type: ignore[attr-defined]  # there is no other way to its native id
    try:
        with open(f"/proc/self/task/{thread.native_id}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"R"
    except (OSError, IndexError, AttributeError):
        return False  # it has ended, or the system does not say


def loop_rests(loop: AbstractEventLoop) -> bool:
    """Whether an event loop has no callback left to run; one that does not say is taken to rest."""
    return not getattr(loop, "_ready", None)
