"""Clocks and recorded draws of a replay: clock, uuid and random values as the agent read them while recording."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from agentdbg.model.records import Json
from agentdbg.recording.pins import ORIGINALS


class RecordedDraws:
    """Gives recorded clock, uuid and random values back, by source and site, the same lane's first.

    Attributes:
        unpinned: How many values were asked for that the record does not have.
    """

    def __init__(self, draws: Sequence[tuple[str, str, str, Json]], started_at: float) -> None:
        self.unpinned = 0
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], dict[str, deque[Json]]] = {}
        self._slept = 0.0
        now = real_monotonic()
        self._shown: dict[str, tuple[float, float]] = {"time": (started_at, now)}
        self._floor: dict[str, float] = {}
        for lane, source, site, value in draws:
            self._waiting.setdefault((source, site), {}).setdefault(lane, deque()).append(value)
            name, unit = _CLOCKS.get(source, ("", 0.0))
            if name and isinstance(value, int | float):
                self._shown.setdefault(name, (value * unit, now))

    def draw(self, lane: str, source: str, site: str) -> tuple[bool, object]:
        """The next recorded value for that source and site."""
        with self._lock:
            lanes = self._waiting.get((source, site), {})
            queue = lanes[lane] if lane in lanes else next((found for found in lanes.values() if found), None)
            if not queue:
                self.unpinned += 1
                return False, None
            value = queue.popleft()
            if isinstance(value, int | float) and source in _CLOCKS:
                name, unit = _CLOCKS[source]
                self._shown[name] = (value * unit - self._slept, real_monotonic())
            return True, value

    def sleep(self, seconds: float) -> None:
        """A skipped sleep moves every clock on."""
        with self._lock:
            self._slept += max(0.0, seconds)

    def passed(self, source: str) -> float | int:
        """What a clock shows where nothing was recorded: the last recorded reading, moved on by what passed since.

        Clocks that only go forward do so here too.
        """
        name, unit = _CLOCKS.get(source, ("monotonic", 1.0))
        with self._lock:
            base, since = self._shown.setdefault(name, (_ORIGINALS[name](), real_monotonic()))
            seconds = base + (real_monotonic() - since) + self._slept
            if name != "time":
                seconds = self._floor[name] = max(seconds, self._floor.get(name, seconds))
        return int(seconds / unit) if source.endswith("_ns") else seconds


def real_monotonic() -> float:
    """The machine's own monotonic clock, whatever the program is shown."""
    return cast(float, _ORIGINALS["monotonic"]())


_ORIGINALS: Mapping[str, Callable[[], Any]] = {name: ORIGINALS[name] for name in ("time", "monotonic", "perf_counter")}
_CLOCKS: Mapping[str, tuple[str, float]] = {
    "time": ("time", 1.0),
    "time_ns": ("time", 1e-9),
    "monotonic": ("monotonic", 1.0),
    "monotonic_ns": ("monotonic", 1e-9),
    "perf_counter": ("perf_counter", 1.0),
    "perf_counter_ns": ("perf_counter", 1e-9),
}
