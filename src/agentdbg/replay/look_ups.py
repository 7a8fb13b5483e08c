"""Status look-ups that settle writes in doubt: none is waited for without end.

One that hangs cannot be made to return, and nothing is known without it. So when its time is over the replay ends.
Runs in the child process, on the standard library.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from agentdbg.recording.calls import Call, ReplayStop

PATIENCE_S = 20.0
"""So long a look-up may take, or half of the replay's time if that is less."""
_TICK_S = 0.1
_Latch = Callable[[ReplayStop, dict[str, object]], object]


class Unsettled(ReplayStop):
    """A look-up does not answer: what it would have settled stays in doubt."""


class LookUps:
    """Those that go on now. Thread-safe."""

    def __init__(self, seconds: float, latch: _Latch, is_held: Callable[[], bool]) -> None:
        """Prepare.

        Args:
            seconds: How long one may take.
            latch: Ends the replay, once.
            is_held: Whether a person holds the program: no time passes then.
        """
        self._seconds = seconds
        self._latch = latch
        self._is_held = is_held
        self._open: dict[str, threading.Event] = {}

    def begins(self, call: Call) -> None:
        """A look-up for a call begins."""
        done = self._open[call.step] = threading.Event()
        threading.Thread(target=self._watch, args=(call, done), daemon=True, name="agentdbg-look-up").start()

    def ended(self, step: str) -> None:
        """It has come to its end, if it was one."""
        if (done := self._open.pop(step, None)) is not None:
            done.set()

    def _watch(self, call: Call, done: threading.Event) -> None:
        left = self._seconds
        while left > 0:
            if done.wait(_TICK_S):
                return
            left -= 0.0 if self._is_held() else _TICK_S
        reason = f"in doubt: its status look-up did not answer within {self._seconds:g} s"
        told: dict[str, object] = {"event": "unsettled", "step": call.step, "name": call.name, "reason": reason}
        self._latch(Unsettled(f"agentdbg: {call.name} is {reason}"), {**told, "key": call.key})
