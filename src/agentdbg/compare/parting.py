"""Where two runs part, and why: the first difference that says something, its cause class and one line about it.

A replay is measured against its record byte by byte. Two recordings made at different times always differ in clock and
ids; there the first difference behind those is the answer, and they are the answer only when nothing else differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from agentdbg.compare import trajectory
from agentdbg.compare.alignment import CHANGED, SAME, Stop, Stopped, never
from agentdbg.compare.answers import Answer, six_answers
from agentdbg.compare.chance import CLOCK, REDACTION, VERSION, Chance
from agentdbg.compare.inputs import input_table
from agentdbg.compare.pair_difference import WEAK, PairJudge, Parting, SegmentRow, steps_of
from agentdbg.compare.pairs import ERROR, INPUT, OUTPUT, RESULT, STATUS, PairedRuns, StepPair, pair_runs
from agentdbg.compare.step_difference import ByHash, has_ended
from agentdbg.model.records import Kind, Mode, RunStatus
from agentdbg.store.protocols import RunSource

LOOKED_AT: Final = 3_000
"""Pairs whose bodies are looked at in search of the first telling difference."""
LISTED: Final = 40
_ENCLOSING: Final = (Kind.AGENT, Kind.NODE)
_AGREEING: Final = ("identical", "recording_ended")
_ENDINGS: Final = frozenset((STATUS, RESULT, OUTPUT, ERROR))


@dataclass(frozen=True)
class RunDifference:
    """Attributes:
    a: The run that is the measure.
    b: The run that is compared with it.
    paired: All steps of both.
    parting: Where they part; ``None`` when nothing differs.
    notes: One line for each reason why the answer says less than it should.
    """

    a: RunSource
    b: RunSource
    paired: PairedRuns
    parting: Parting | None
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing at all differs."""
        return self.parting is None

    @property
    def a_is_b(self) -> bool:
        """Whether a run is compared with itself (or with a copy of itself)."""
        left, right = self.a.summary(), self.b.summary()
        return self.same and (left.run_id, left.started_at) == (right.run_id, right.started_at)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The six answers. Builds all steps."""
        steps_a, steps_b = self.a.steps(), self.b.steps()
        pairs = [
            (steps_a[p.i] if p.i is not None else None, steps_b[p.j] if p.j is not None else None)
            for p in self.paired.pairs
        ]
        left, right = self.a.summary(), self.b.summary()
        ended = all(run.status not in (RunStatus.RUNNING, RunStatus.LOST) for run in (left, right))
        return six_answers(left, right, pairs, ByHash(), complete=ended)

    def first_input(self) -> StepPair | None:
        """The pair of model calls whose input table tells most: the first with a telling difference, else the first."""
        chance = Chance(self.a, self.b)
        first: StepPair | None = None
        for pair in self.paired.pairs:
            if pair.sign != CHANGED or INPUT not in pair.aspects:
                continue
            first = first or pair
            if any(row.cause != CLOCK for row in self.segments(pair, chance) if row.row.sign != SAME):
                return pair
        return first

    def segments(self, pair: StepPair, chance: Chance | None = None) -> tuple[SegmentRow, ...]:
        """The input hash table of a pair of model calls, each differing row with its settled cause. Loads bodies."""
        step_a, step_b = steps_of(self.a, self.b, pair)
        table = input_table(self.a, step_a, self.b, step_b)
        judge = PairJudge(self.a, self.b, chance)
        return tuple(judge.segment_row(step_a, step_b, row) for row in table.rows)

    def differences(self, pair: StepPair, limit: int = LISTED) -> tuple[Parting, ...]:
        """Everything in which the two steps of a pair differ, up to ``limit`` fields of each body."""
        return tuple(PairJudge(self.a, self.b, limit=limit).of_pair(pair))


def part(a: RunSource, b: RunSource, *, should_stop: Stop = never) -> RunDifference:
    """Find where two runs part.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    paired = pair_runs(a, b, should_stop=should_stop)
    judge = PairJudge(a, b)
    left, right = a.summary(), b.summary()
    if right.mode is Mode.EXACT and right.replay_of == left.run_id:
        parting = _replayed(a, b, paired)
        if parting is not None and right.verdict in _AGREEING:
            judge.notes.append(f"the replay's verdict was {right.verdict}: its run's rules allow what differs here")
    else:
        parting = _Search(a, b, judge).first(paired, should_stop)
    return RunDifference(a, b, paired, parting, (*paired.notes, *judge.notes))


def _replayed(a: RunSource, b: RunSource, paired: PairedRuns) -> Parting | None:
    """A replay and its record: the verdict's own comparison."""
    found = trajectory.compare(a, b).divergence
    if found is None:
        return None
    step = a.step_by_id(found.id)
    place = paired.place_of_a.get(found.step - 1) if step is not None else paired.place_of_b.get(found.step - 1)
    return Parting(found, "", "", paired.pairs[place] if place is not None else StepPair(CHANGED, None, None))


class _Search:
    """Looks for the first telling difference, pair by pair."""

    def __init__(self, a: RunSource, b: RunSource, judge: PairJudge) -> None:
        self._a, self._b, self._judge = a, b, judge
        self._running = [source.summary().status is RunStatus.RUNNING for source in (a, b)]

    def first(self, paired: PairedRuns, should_stop: Stop) -> Parting | None:
        """The first telling difference; else the first of an enclosing step, else of clock and ids."""
        weak: list[Parting] = []
        ends = _last_place(pair.i for pair in paired.pairs), _last_place(pair.j for pair in paired.pairs)
        for number, place in enumerate(paired.differing):
            if should_stop():
                raise Stopped
            pair = self._as_far_as_it_goes(paired.pairs[place], place > ends[0], place > ends[1])
            if pair.sign == SAME:
                continue
            if number >= LOOKED_AT:
                self._judge.notes.append(
                    f"the first {LOOKED_AT:,} differing pairs were looked at; all differ in clock and ids"
                )
                break
            for found in self._judge.of_pair(pair):
                if not found.telling or self._encloses(pair, found):
                    weak.append(found)
                else:
                    return self._with_config(found, paired)
        strength = ["", WEAK[VERSION], WEAK[REDACTION], WEAK[CLOCK]]
        return min(weak, key=lambda found: strength.index(found.why), default=None)

    def _as_far_as_it_goes(self, pair: StepPair, beyond_a: bool, beyond_b: bool) -> StepPair:
        """A pair without what a run that is still running has not come to yet."""
        if (beyond_a and self._running[0]) or (beyond_b and self._running[1]):
            return StepPair(SAME, pair.i, pair.j)
        if pair.sign != CHANGED or not any(self._running):
            return pair
        steps = steps_of(self._a, self._b, pair)
        if not any(step and going and not has_ended(step) for step, going in zip(steps, self._running, strict=True)):
            return pair
        aspects = tuple(aspect for aspect in pair.aspects if aspect not in _ENDINGS)
        return StepPair(CHANGED if aspects else SAME, pair.i, pair.j, aspects)

    def _with_config(self, found: Parting, paired: PairedRuns) -> Parting:
        """A result that is, byte for byte, a configuration that changed has that as its cause."""
        step_a, step_b = steps_of(self._a, self._b, found.pair)
        if found.aspect != RESULT or not step_a or not step_b or not step_a.result or not step_b.result:
            return found
        wanted = (step_a.result.sha256, step_b.result.sha256)
        for place in paired.differing[:LOOKED_AT]:
            a, b = steps_of(self._a, self._b, paired.pairs[place])
            contents = (a.arguments, b.arguments) if a and b and a.kind is Kind.CONFIG else (None, None)
            if a and contents[0] and contents[1] and (contents[0].sha256, contents[1].sha256) == wanted:
                why = f"it is the content of the configuration {a.name}, which changed (step {a.n})"
                return replace(found, divergence=replace(found.divergence, cause=VERSION), why=why)
        return found

    def _encloses(self, pair: StepPair, found: Parting) -> bool:
        """Whether a difference is one of how an enclosing step ended, which what is inside explains."""
        if found.aspect not in (RESULT, STATUS, ERROR) or pair.i is None:
            return False
        return self._a.steps()[pair.i].kind in _ENCLOSING


def _last_place(numbers: Iterable[int | None]) -> int:
    """The last place that holds a number."""
    return max((place for place, number in enumerate(numbers) if number is not None), default=-1)
