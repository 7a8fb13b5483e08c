"""Rows of the benchmark table, and how they are measured: in turns with their peers, medians of several rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median

COLUMNS = ("what", "value", "goal", "peer", "ratio", "goal", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure.

    Attributes:
        what: What was measured.
        value: The figure.
        unit: Its unit.
        goal: What ``value`` may be at most; ``None``: no goal.
        peer: The peer's figure in the same unit, measured in the same run.
        peer_name: Who the peer is.
        ratio_goal: What ``value / peer`` may be at most.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    peer: float | None = None
    peer_name: str = ""
    ratio_goal: float | None = None

    @property
    def ratio(self) -> float | None:
        """``value`` over ``peer``."""
        return self.value / self.peer if self.peer else None

    @property
    def verdict(self) -> str:
        """``ok``, ``over``, nothing where there is no goal, and ``?`` where the difference drowned in noise."""
        if self.value < 0:
            return "?"
        pairs = [(self.value, self.goal), (self.ratio, self.ratio_goal)]
        met = [found <= goal for found, goal in pairs if found is not None and goal is not None]
        return ("ok" if all(met) else "over") if met else ""

    def cells(self) -> tuple[str, ...]:
        """The row as it is printed."""
        return (
            self.what,
            f"{_figure(self.value)} {self.unit}",
            f"≤ {_figure(self.goal)}" if self.goal is not None else "",
            f"{_figure(self.peer)} {self.peer_name}" if self.peer is not None else "",
            _ratio(self.ratio),
            f"≤ {_ratio(self.ratio_goal)}" if self.ratio_goal is not None else "",
            self.verdict,
        )


def in_turns(rounds: int, *works: Callable[[], float]) -> list[float]:
    """The median figure of each work, one round of every work after the other."""
    found = [[work() for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*found, strict=True)]


def clock() -> float:
    """Seconds on a clock that the recorder does not pin."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1e9


def seconds(work: Callable[[], object]) -> float:
    """How long ``work`` takes."""
    began = clock()
    work()
    return clock() - began


def per_call(calls: int, call: Callable[[int], object]) -> float:
    """Seconds that ``call(0)``, ``call(1)``, … take, the median: what else the machine does strikes few of them."""
    taken = []
    for number in range(calls):
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        call(number)
        taken.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - began)
    return median(taken) / 1e9 if taken else 0.0


def table(rows: Iterable[Row]) -> Iterator[str]:
    """The lines of the table."""
    cells = [COLUMNS, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        aligned = [
            cell.ljust(width) if place in (0, 3, 6) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(aligned).rstrip()
        if not number:
            yield "  ".join("-" * width for width in widths)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _ratio(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}×" if value > 0.5 else f"1/{1 / value:.1f}" if value > 0 else "0"
