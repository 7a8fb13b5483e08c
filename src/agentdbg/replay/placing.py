"""Puts what the record holds of a run's calls and threads into one line: intents, outcomes, hand-offs between threads.

An outcome stands where the program went on with it. That is where it was written, unless the record says that another
thread came in between (`agentdbg.recording.handoffs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TypeAlias

from agentdbg.model.records import Json
from agentdbg.recording.firings import FIRES
from agentdbg.recording.handoffs import MOST, RETURNED
from agentdbg.recording.loop_arrivals import ARRIVES

AT_ONCE_NS = 100_000
"""Outcomes that are less apart, with nothing between them, are taken to be of one turn where turns are not known."""
_AN_ARRIVAL = 5
_A_FIRING = 3
"""Numbers that are noted of what comes to a loop whose turns are counted; where steps are, there is one more."""


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """When an intent or outcome was written; ``turn`` is that of its event loop, where one ran."""

    mono: float
    seq: int
    writer: str
    turn: tuple[int, ...] = field(compare=False, default=())


@dataclass(frozen=True, slots=True)
class HandOff:
    """What one thread handed to another, or looked whether there was.

    Attributes:
        before: Number of intents and outcomes that come before it.
        lane: Raw lane path in which it happened.
        what: Kind of hand-off, as in the record.
        value: What the record says of it: ``False`` or a moment where it was in vain.
        times: How often in a row.
        at: When it happened at the earliest, in seconds on the recording machine's monotonic clock.
        burst: Of what arrived at an event loop: number of the burst, and the count in it.
    """

    before: int
    lane: str
    what: str
    value: Json = None
    times: int = 1
    at: float = 0.0
    burst: tuple[int, ...] = ()


def moment_of(place: str, event: Mapping[str, Json]) -> Moment:
    """When an event was written, by the writer in ``place``: a writer's id or that of a step."""
    mono, seq, turn = event.get("mono"), event.get("seq"), event.get("turn")
    return Moment(
        float(mono) if isinstance(mono, int | float) else 0.0,
        seq if isinstance(seq, int) else 0,
        place.partition(":")[0],
        _numbers(turn),
    )


Placed: TypeAlias = "tuple[Moment, int, bool]"


class Line:
    """All of it in order.

    Attributes:
        moments: Of intents and outcomes: when, number of the call, whether it is the outcome.
        bursts: Of each outcome, in order: number of its burst and its count in it.
        handoffs: What threads handed over.
    """

    def __init__(
        self,
        asked: Sequence[Moment],
        ended: Sequence[tuple[Moment, int]],
        handed: Sequence[tuple[Moment, Sequence[Json]]],
    ) -> None:
        entries: list[tuple[tuple[float, float, str, int], Placed | Sequence[Json]]] = []
        later: dict[tuple[str, int], tuple[float, float, str, int]] = {}
        for moment, notes in sorted(handed, key=lambda each: each[0]):
            for n, note in enumerate(notes):
                key = (moment.mono, moment.seq - 0.5, moment.writer, n)
                if not isinstance(note, list) or len(note) < 2:
                    continue
                if note[1] == RETURNED and len(note) > 2 and isinstance(note[2], int):
                    later[moment.writer, note[2]] = key
                else:
                    entries.append((key, note))
        for i, moment in enumerate(asked):
            entries.append(((moment.mono, moment.seq, moment.writer, 0), (moment, i, False)))
        for moment, i in ended:
            own = (moment.mono, moment.seq, moment.writer, 0)
            entries.append((max(own, later.get((moment.writer, moment.seq), own)), (moment, i, True)))
        entries.sort(key=lambda each: each[0])
        self.moments = [what for _, what in entries if isinstance(what, tuple)]
        self._line = [what for _, what in entries]
        self._arrivals: dict[int, tuple[int, ...]] = {}
        self.bursts = self._count()
        self.handoffs = tuple(self._placed())

    def gap(self, place: int) -> float:
        """Seconds since the place before."""
        return max(0.0, (self.moments[place][0].mono - self.moments[place - 1][0].mono) / 1e9) if place else 0.0

    def _count(self) -> list[tuple[int, ...]]:
        """The bursts of outcomes, and of what arrived at loops among them."""
        met: list[Moment] = []
        arrivals: dict[int, int] = {}
        writer = self.moments[0][0].writer if self.moments else ""
        for n, what in enumerate(self._line):
            if isinstance(what, tuple):
                if what[2]:
                    met.append(what[0])
            elif turn := _arrival(what):
                arrivals[len(met)] = n
                met.append(Moment(0.0, 0, writer, turn[1:]))
        numbers = _burst_numbers(met)
        self._arrivals = {n: numbers[i] for i, n in arrivals.items()}
        return [number for i, number in enumerate(numbers) if i not in arrivals]

    def _placed(self) -> Iterator[HandOff]:
        before, at = 0, 0.0
        for n, what in enumerate(self._line):
            if isinstance(what, tuple):
                before, at = before + 1, max(at, what[0].mono / 1e9)
                continue
            lane, kind, value, times = [*what, *(None, 1)[len(what) - 2 :]][:4]
            if isinstance(moment := _waited_until(value), int):
                at = max(at, moment / 1e9)
            times = times if isinstance(times, int) else 1
            found = HandOff(before, str(lane), str(kind), value, times, at, self._arrivals.get(n, ()))
            yield from repeat(replace(found, times=1), min(times, MOST)) if kind == FIRES else (found,)


def _waited_until(value: Json) -> Json:
    """The moment that a hand-off's value says."""
    if isinstance(value, list):
        return value[-1] if value and isinstance(value[0], list) else next(iter(value), None)
    return None if isinstance(value, bool) else value


def _arrival(note: Sequence[Json]) -> tuple[int, ...]:
    """Moment and turn of what arrived at a loop, or of a timer that fired there; empty for anything else."""
    if note[1] == FIRES and len(fired := _numbers(note[2] if len(note) > 2 else None)) == _A_FIRING:
        return (0, fired[0], 0, *fired[1:])
    found = _numbers(note[2]) if note[1] == ARRIVES and len(note) > 2 else ()
    return found if len(found) == _AN_ARRIVAL else ()


def _numbers(value: Json) -> tuple[int, ...]:
    return tuple(item for item in value if isinstance(item, int)) if isinstance(value, list) else ()


def _burst_numbers(outcomes: Sequence[Moment]) -> list[tuple[int, ...]]:
    """The number of each outcome's burst and its count in it, in recorded order."""
    found: list[tuple[int, ...]] = []
    known: dict[tuple[object, ...], int] = {}
    before: Moment | None = None
    for n, this in enumerate(outcomes):
        if len(this.turn) == 4:
            loop, _, burst, ticks = this.turn
            found.append((known.setdefault((this.writer, loop, burst), n), ticks))
        elif this.turn or before is None or before.turn or not _at_once(before, this):
            found.append(())
        else:  # recorded by a version that counted no turns
            found[-1] = found[-1] or (n - 1, 0)
            found.append((found[-1][0], 0))
        before = this
    return found


def _at_once(a: Moment, b: Moment) -> bool:
    return a.writer == b.writer and b.seq == a.seq + 1 and b.mono - a.mono < AT_ONCE_NS


def bursts(places: Sequence[tuple[int, tuple[int, ...]]]) -> Iterator[Mapping[int, int]]:
    """The bursts of more than one: position of each to its count, in recorded order.

    Args:
        places: Of outcomes and arrivals: position, and number of the burst with the count in it.
    """
    found: dict[int, dict[int, int]] = {}
    for place, burst in sorted(places):
        if burst:
            found.setdefault(burst[0], {})[place] = burst[1]
    return (burst for burst in found.values() if len(burst) > 1)
