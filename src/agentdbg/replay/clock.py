"""Clocks and recorded draws of a replay: clock, uuid and random values as the agent read them while recording."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, cast

from agentdbg.model.records import Json
from agentdbg.recording.pins import LOOP_TIME, ORIGINALS
from agentdbg.replay.by_hand import by_hand

SLOWER = 10
"""So many times slower than the machine's goes the time that is shown, as long as the record has something next."""


class ShownTime:
    """Seconds on the record's monotonic clock. Thread-safe.

    What happens as it did in the record moves it to the moment that it happened then, skipped sleeps and timers move it
    on. Between it goes slowly, because a replay needs other times for what it does than the record did. Never back.
    """

    def __init__(self, at: float) -> None:
        self._lock = threading.RLock()  # a signal handler, too, may ask in the middle
        self._at, self._real, self._limit = at, real_monotonic(), inf

    def starts_anew(self) -> None:
        """Nobody reads it; in a process that was forked from one where somebody may have."""
        self._lock = threading.RLock()  # a signal handler, too, may ask in the middle

    def now(self) -> float:
        """The moment that is shown."""
        with self._lock:
            return self._now()

    def to(self, moment: float) -> None:
        """It is at least that late."""
        with self._lock:
            self._set(max(moment, self._now()), self._limit)

    def on(self, seconds: float) -> None:
        """So much time was skipped."""
        with self._lock:
            self._set(self._now() + max(0.0, seconds), self._limit)

    def until(self, moment: float) -> None:
        """What the record has next was then; nothing, if that is infinite."""
        with self._lock:
            self._set(self._now(), moment)

    def _set(self, at: float, limit: float) -> None:
        self._at, self._real, self._limit = at, real_monotonic(), limit

    def _now(self) -> float:
        passed = real_monotonic() - self._real
        return self._at + (passed if self._limit == inf else passed / SLOWER)


class RecordedDraws:
    """Gives recorded clock, uuid and random values back, by source and site, the same lane's first.

    Attributes:
        unpinned: How many values were asked for that the record does not have.
        time: The time that is shown, on the clock ``monotonic``.
    """

    def __init__(
        self, draws: Sequence[tuple[str, str, str, Json]], started_at: float, began: float | None = None
    ) -> None:
        self.unpinned = 0
        self._lock = threading.RLock()  # a signal handler, too, may ask in the middle
        self._waiting: dict[tuple[str, str], dict[str, deque[Json]]] = {}
        first: dict[str, float] = {} if not began else {"monotonic": began}
        for lane, source, site, value in draws:
            self._waiting.setdefault((source, site), {}).setdefault(lane, deque()).append(value)
            name, unit = _CLOCKS.get(source, ("", 0.0))
            if name and isinstance(value, int | float):
                first.setdefault(name, value * unit)
        first["time"] = started_at
        start = first.setdefault("monotonic", real_monotonic())
        self.time = ShownTime(start)
        self._ahead = {name: first.get(name, original()) - start for name, original in _ORIGINALS.items()}
        self._floor: dict[str, float] = {}

    def starts_anew(self) -> None:
        """Nobody draws; in a process that was forked from one where somebody may have."""
        self._lock = threading.RLock()  # a signal handler, too, may ask in the middle
        self.time.starts_anew()

    def draw(self, lane: str, source: str, site: str) -> tuple[bool, object]:
        """The next recorded value for that source and site; what a person types in pdb takes none."""
        if by_hand():
            return False, None
        with self._lock:
            lanes = self._waiting.get((source, site), {})
            queue = lanes[lane] if lane in lanes else next((found for found in lanes.values() if found), None)
            if not queue:
                self.unpinned += 1
                return False, None
            value = queue.popleft()
            if isinstance(value, int | float) and source in _CLOCKS:
                name, unit = _CLOCKS[source]
                if name == "monotonic":
                    self.time.to(value * unit)
                else:
                    self._ahead[name] = value * unit - self.time.now()
            return True, value

    def sleep(self, seconds: float) -> None:
        """A skipped sleep moves every clock on."""
        self.time.on(seconds)

    def passed(self, source: str) -> float | int:
        """What a clock shows where nothing was recorded: the last recorded reading, moved on by what passed since.

        Clocks that only go forward do so here too.
        """
        name, unit = _CLOCKS.get(source, ("monotonic", 1.0))
        with self._lock:
            seconds = self._ahead[name] + self.time.now()
            if name != "time":
                seconds = self._floor[name] = max(seconds, self._floor.get(name, seconds))
        return int(seconds / unit) if source.endswith("_ns") else seconds


class DrawsOfTheStart:
    """Gives back what was drawn when a call began that goes on from a later checkpoint.

    Clocks are those of ``after``.
    """

    def __init__(self, draws: Sequence[tuple[str, str, str, Json]], after: RecordedDraws) -> None:
        self._after = after
        self._waiting: dict[tuple[str, str], deque[Json]] = {}
        for _, source, site, value in draws:
            self._waiting.setdefault((source, site), deque()).append(value)

    def draw(self, lane: str, source: str, site: str) -> tuple[bool, object]:
        """The next value of that source and site that was drawn then."""
        queue = self._waiting.get((source, site))
        return (True, queue.popleft()) if queue else (False, None)

    def passed(self, source: str) -> float | int:
        """What a clock shows."""
        return self._after.passed(source)


def real_monotonic() -> float:
    """The machine's own monotonic clock, whatever the program is shown."""
    return cast(float, _ORIGINALS["monotonic"]())


_ORIGINALS: Mapping[str, Callable[[], Any]] = {name: ORIGINALS[name] for name in ("time", "monotonic", "perf_counter")}
_CLOCKS: Mapping[str, tuple[str, float]] = {
    "time": ("time", 1.0),
    "time_ns": ("time", 1e-9),
    "monotonic": ("monotonic", 1.0),
    LOOP_TIME: ("monotonic", 1.0),
    "monotonic_ns": ("monotonic", 1e-9),
    "perf_counter": ("perf_counter", 1.0),
    "perf_counter_ns": ("perf_counter", 1e-9),
}
