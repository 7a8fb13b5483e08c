"""Who waits for which moment in a replay, and whether all others rest meanwhile."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from agentdbg.replay.clock import real_monotonic
from agentdbg.replay.settling import LISTENERS, can_go_on, others_at_work

if TYPE_CHECKING:
    from types import FrameType

_STILL_S = 0.25
_SLICES_S = (0.0005, 0.0005, 0.001, 0.002, 0.005)


class Owning:
    """Says for a thread which moment it waits for."""

    def __init__(self, owners: dict[int, float], lock: threading.Lock, moment: float) -> None:
        self._owners, self._lock, self._moment = owners, lock, moment
        self._me = threading.get_ident()

    def __enter__(self) -> None:
        with self._lock:
            self._owners[self._me] = self._moment

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._owners.pop(self._me, None)


class Rest:
    """Whether the other threads wait, looked at again and again."""

    def __init__(self, waiting: dict[int, float]) -> None:
        self._waiting = waiting
        self._looks = self._slices = 0
        self._before: dict[int, tuple[int, int]] = {}
        self._moved = 0.0
        self.busy = self.alone = False

    def looks(self) -> bool:
        """Look once more; two looks that find all at rest are needed, one where there is nobody else."""
        self.alone = threading.active_count() <= 2 and not self._others()
        if self.alone:
            return True
        busy = others_at_work(self._waiting)
        self.busy = bool(busy)
        if busy != self._before:
            self._before, self._moved = busy, real_monotonic()
        if busy and (real_monotonic() - self._moved < _STILL_S or can_go_on(busy)):
            self._looks = 0
            return False
        self._looks += 1
        return self._looks >= 2

    def slice(self) -> float:
        """How long to wait before the next look."""
        self._slices += 1
        return _SLICES_S[min(self._slices, len(_SLICES_S)) - 1]

    @staticmethod
    def _others() -> bool:
        me = threading.get_ident()
        return any(ident != me and not _is_listener(frame) for ident, frame in sys._current_frames().items())


def _is_listener(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in LISTENERS
