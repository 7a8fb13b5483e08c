"""Whether a thread or an event loop has done all it can with the outcome it was given last.

Recorded completion order is more than the order of outcomes: what the agent's code did with one outcome it did before the
next one came. A replay has no latencies to keep the two apart, so the next outcome waits until the receiver of the last one
has come to rest: it waits for something, has ended, or asks for its next call.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

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


def thread_rests(ident: int) -> bool:
    """Whether a thread has ended or waits for another."""
    frame = sys._current_frames().get(ident)
    return frame is None or frame.f_code.co_name in _RESTING.get(frame.f_code.co_filename, ())


def loop_rests(loop: AbstractEventLoop) -> bool:
    """Whether an event loop has no callback left to run; one that does not say is taken to rest."""
    return not getattr(loop, "_ready", None)
