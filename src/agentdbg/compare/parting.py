"""Where two runs part, and why: the first difference that says something, its cause class and one line about it.

A replay is measured against its record byte by byte. Two recordings made at different times always differ in clock and
ids; there the first difference behind those is the answer, and they are the answer only when nothing else differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from agentdbg.compare import inputs, trajectory
from agentdbg.compare.alignment import ADDED, CHANGED, SAME, Stop, Stopped, never
from agentdbg.compare.answers import Answer, six_answers
from agentdbg.compare.chance import CLOCK, REDACTION, VERSION, Chance
from agentdbg.compare.fields import FieldChange, diff_bodies
from agentdbg.compare.first_difference import ABSENT
from agentdbg.compare.inputs import InputRow, InputTable, input_table
from agentdbg.compare.pairs import (
    ARGUMENTS,
    CONTENT,
    ERROR,
    INPUT,
    KEY,
    NAME,
    OUTPUT,
    RESULT,
    STATUS,
    PairedRuns,
    StepPair,
    pair_runs,
)
from agentdbg.compare.step_difference import ByHash, Divergence, has_ended
from agentdbg.model.records import BodyRef, Kind, Mode, RunStatus, Step
from agentdbg.store.protocols import BodyMissing, RunSource

LOOKED_AT: Final = 3_000
"""Pairs whose bodies are looked at in search of the first telling difference."""
LISTED: Final = 40
NO_STEP: Final = "(no such step)"
_SHOWN: Final = 200
_ENCLOSING: Final = (Kind.AGENT, Kind.NODE)
_AGREEING: Final = ("identical", "recording_ended")
_ENDINGS: Final = frozenset((STATUS, RESULT, OUTPUT, ERROR))
_NOTE_CAUSES: Final = {Kind.RETRIEVAL: "input.retrieved", Kind.CONFIG: "version", Kind.READ: "environment"}
_MODEL_IDS: Final = frozenset(((OUTPUT, "$.model"), (OUTPUT, "$.system_fingerprint"), (INPUT, "$.model")))
_WEAK: Final = {
    VERSION: "it is a declared version",
    CLOCK: "only times, ids or drawn values differ",
    REDACTION: "redacted under two keys: nobody can tell whether the values are equal",
}
_PLACEHOLDER: Final = re.compile("⟦R:[^⟧]*⟧")
_SINGLE: Final = {KEY: ("idempotency_key", "arguments"), STATUS: ("status", "result")}


@dataclass(frozen=True, slots=True)
class Parting:
    """Attributes:
    divergence: The first difference that says something; of clock and ids alone when there is no other.
    aspect: Of what: ``input``, ``arguments``, ``result``, …; empty for a step that stands alone.
    why: What the cause class rests on, where more than the place of the difference does.
    pair: The steps' place in the paired runs.
    """

    divergence: Divergence
    aspect: str
    why: str
    pair: StepPair

    @property
    def telling(self) -> bool:
        """Whether it says something: times, ids, declared versions and values redacted under two keys do not."""
        return self.why not in _WEAK.values()


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A row of the input hash table once its bodies were looked at.

    Attributes:
        row: The row.
        cause: Its settled cause class (``clock``: only ids or times); empty for an equal one.
        documents: Sources of the retrieved documents that make it differ.
    """

    row: InputRow
    cause: str
    documents: tuple[str, ...] = ()


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
        step_a, step_b = _steps(self.a, self.b, pair)
        table = input_table(self.a, step_a, self.b, step_b)
        search = _Search(self.a, self.b, chance or Chance(self.a, self.b))
        return tuple(search.segment_row(step_a, step_b, row) for row in table.rows)

    def differences(self, pair: StepPair, limit: int = LISTED) -> tuple[Parting, ...]:
        """Everything in which the two steps of a pair differ, up to ``limit`` fields of each body."""
        search = _Search(self.a, self.b, Chance(self.a, self.b), limit)
        return tuple(search.of_pair(pair))


def part(a: RunSource, b: RunSource, *, should_stop: Stop = never) -> RunDifference:
    """Find where two runs part.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    paired = pair_runs(a, b, should_stop=should_stop)
    search = _Search(a, b, Chance(a, b))
    left, right = a.summary(), b.summary()
    if right.mode is Mode.EXACT and right.replay_of == left.run_id:
        parting = _replayed(a, b, paired)
        if parting is not None and right.verdict in _AGREEING:
            search.notes.append(f"the replay's verdict was {right.verdict}: its run's rules allow what differs here")
    else:
        parting = search.first(paired, should_stop)
    return RunDifference(a, b, paired, parting, (*paired.notes, *search.notes))


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

    def __init__(self, a: RunSource, b: RunSource, chance: Chance, limit: int = 1) -> None:
        self._a, self._b, self._chance, self._limit = a, b, chance, limit
        self._running = [source.summary().status is RunStatus.RUNNING for source in (a, b)]
        self.notes: list[str] = []

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
                self.notes.append(
                    f"the first {LOOKED_AT:,} differing pairs were looked at; all differ in clock and ids"
                )
                break
            for found in self.of_pair(pair):
                if not found.telling or self._encloses(pair, found):
                    weak.append(found)
                else:
                    return self._with_config(found, paired)
        strength = ["", _WEAK[VERSION], _WEAK[REDACTION], _WEAK[CLOCK]]
        return min(weak, key=lambda found: strength.index(found.why), default=None)

    def _as_far_as_it_goes(self, pair: StepPair, beyond_a: bool, beyond_b: bool) -> StepPair:
        """A pair without what a run that is still running has not come to yet."""
        if (beyond_a and self._running[0]) or (beyond_b and self._running[1]):
            return StepPair(SAME, pair.i, pair.j)
        if pair.sign != CHANGED or not any(self._running):
            return pair
        steps = _steps(self._a, self._b, pair)
        if not any(step and going and not has_ended(step) for step, going in zip(steps, self._running, strict=True)):
            return pair
        aspects = tuple(aspect for aspect in pair.aspects if aspect not in _ENDINGS)
        return StepPair(CHANGED if aspects else SAME, pair.i, pair.j, aspects)

    def row_cause(self, step_a: Step | None, step_b: Step | None, row: InputRow) -> str:
        """The cause class of a row of an input table; empty for an equal one."""
        if row.sign == SAME or step_a is None or step_b is None:
            return ""
        if row.a is not None and row.b is not None:
            changes = self._changes(row.a, row.b)
            if changes and not self._chance.telling(changes):
                return self._chance.kind_of(changes[0])
        return inputs.settled_cause(self._a, step_a, self._b, step_b, row)

    def segment_row(self, step_a: Step | None, step_b: Step | None, row: InputRow) -> SegmentRow:
        """A row with its cause and, where that is retrieval, the documents."""
        cause = self.row_cause(step_a, step_b, row)
        if cause != "input.retrieved" or step_a is None or step_b is None:
            return SegmentRow(row, cause)
        found = inputs.changed_documents(self._a, step_a, self._b, step_b, row)
        return SegmentRow(row, cause, tuple(dict.fromkeys(one.source or one.id for one in found)))

    def of_pair(self, pair: StepPair) -> Iterator[Parting]:
        """In what the two steps of a pair differ."""
        step_a, step_b = _steps(self._a, self._b, pair)
        step = step_a or step_b
        if step is None:
            return
        if step_a is None or step_b is None:
            called = [trajectory.called(one) if one is not None else NO_STEP for one in (step_a, step_b)]
            yield Parting(_divergence(step, "$", called[0], called[1], "order"), "", "", pair)
            return
        for aspect in pair.aspects:
            if aspect == INPUT:
                yield from self._input(step_a, step_b, pair)
            elif aspect in (ARGUMENTS, CONTENT, OUTPUT, RESULT):
                yield from self._body(step_a, step_b, aspect, pair)
            else:
                yield self._single(step_a, step_b, aspect, pair)

    def _single(self, a: Step, b: Step, aspect: str, pair: StepPair) -> Parting:
        if aspect == ERROR:
            texts = [f"{s.error.type}: {s.error.message}" if s.error else ABSENT for s in (a, b)]
            return Parting(_divergence(a, "error", texts[0], texts[1], "result"), aspect, "", pair)
        if aspect == NAME:
            cause = "model_id" if a.kind is Kind.MODEL else "order"
            return Parting(_divergence(a, "name", a.name, b.name, cause), aspect, "", pair)
        name, cause = _SINGLE[aspect]
        values = [str(getattr(step, name) or ABSENT) for step in (a, b)]
        return Parting(_divergence(a, name, values[0], values[1], cause), aspect, "", pair)

    def _body(self, a: Step, b: Step, aspect: str, pair: StepPair) -> Iterator[Parting]:
        refs = (a.result, b.result) if aspect in (OUTPUT, RESULT) else (a.arguments, b.arguments)
        cause = {ARGUMENTS: "arguments", OUTPUT: "model_output", RESULT: "result"}.get(aspect)
        changes = self._changes(*refs)
        cause = cause or _note_cause(a)
        if changes is None:
            shown = [ref.sha256[:12] if ref else ABSENT for ref in refs]
            yield Parting(_divergence(a, "$", shown[0], shown[1], cause), aspect, "", pair)
            return
        yield from (self._parting(a, change, aspect, cause, pair) for change in self._chosen(changes))

    def _input(self, a: Step, b: Step, pair: StepPair) -> Iterator[Parting]:
        table = input_table(self._a, a, self._b, b)
        if table.note:
            shown = [(step.input_hash or ABSENT)[:12] for step in (a, b)]
            yield Parting(_divergence(a, "$", shown[0], shown[1], "input.history"), INPUT, table.note, pair)
            return
        places = _places(table)
        for row in table.differing:
            if row.a is None or row.b is None:
                cause = self.row_cause(a, b, row)
                shown = [f"{row.kind} {row.name}".strip() if ref is not None else ABSENT for ref in (row.a, row.b)]
                yield Parting(_divergence(a, places[row], shown[0], shown[1], cause), INPUT, "", pair)
                continue
            changes = self._changes(row.a, row.b)
            cause = self.row_cause(a, b, row)
            for change in self._chosen(changes) if changes is not None else ():
                change = replace(change, path=places[row] + change.path.removeprefix("$"))
                yield self._parting(a, change, INPUT, cause, pair)
            if changes is None:
                yield Parting(_divergence(a, places[row], row.a.sha256[:12], row.b.sha256[:12], cause), INPUT, "", pair)

    def _chosen(self, changes: Sequence[FieldChange]) -> Sequence[FieldChange]:
        """The first telling change, else the first of all; or as many as are wanted, telling or not."""
        return ((self._chance.telling(changes) or changes) if self._limit == 1 else changes)[: self._limit]

    def _parting(self, a: Step, change: FieldChange, aspect: str, cause: str, pair: StepPair) -> Parting:
        kind = self._chance.kind_of(change)
        before, after = change.before_text(_SHOWN), change.after_text(_SHOWN)
        if kind:
            cause = kind
        elif _placeholders(change.before) != _placeholders(change.after):
            cause = REDACTION
        elif (aspect, change.path) in _MODEL_IDS:
            cause = "model_id"
        return Parting(_divergence(a, change.path, before, after, cause), aspect, _WEAK.get(kind, ""), pair)

    def _with_config(self, found: Parting, paired: PairedRuns) -> Parting:
        """A result that is, byte for byte, a configuration that changed has that as its cause."""
        step_a, step_b = _steps(self._a, self._b, found.pair)
        if found.aspect != RESULT or not step_a or not step_b or not step_a.result or not step_b.result:
            return found
        wanted = (step_a.result.sha256, step_b.result.sha256)
        for place in paired.differing[:LOOKED_AT]:
            a, b = _steps(self._a, self._b, paired.pairs[place])
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

    def _changes(self, left: BodyRef | None, right: BodyRef | None) -> Sequence[FieldChange] | None:
        """The fields that differ; ``None`` when a body cannot be read."""
        if left is None or right is None:
            return None
        try:
            return diff_bodies(self._a.body(left), self._b.body(right)).changes
        except BodyMissing as problem:
            line = f"a body can no longer be read ({problem}): compared by hash alone"
            if line not in self.notes:
                self.notes.append(line)
            return None


def _steps(a: RunSource, b: RunSource, pair: StepPair) -> tuple[Step | None, Step | None]:
    return (
        a.steps()[pair.i] if pair.i is not None else None,
        b.steps()[pair.j] if pair.j is not None else None,
    )


def _last_place(numbers: Iterable[int | None]) -> int:
    """The last place that holds a number."""
    return max((place for place, number in enumerate(numbers) if number is not None), default=-1)


def _divergence(step: Step, path: str, expected: str, got: str, cause: str) -> Divergence:
    return Divergence(step.n, step.id, step.kind.value, step.name, path, expected, got, cause)


def _note_cause(note: Step) -> str:
    if note.kind is Kind.MESSAGE:
        return "input.system" if note.name in ("system", "developer") else "input.history"
    return _NOTE_CAUSES.get(note.kind, "result")


def _placeholders(value: object) -> list[str]:
    return sorted(_PLACEHOLDER.findall(value)) if isinstance(value, str) else []


def _places(table: InputTable) -> dict[InputRow, str]:
    """For each row the path of its segment in the request."""
    found: dict[InputRow, str] = {}
    message = 0
    for row in table.rows:
        if row.kind == "parameters":
            found[row] = "$"
        elif row.kind == "tool_schema":
            found[row] = f"$.tools[{row.name}]"
        elif row.name.startswith("@"):
            found[row] = f"$.{row.name[1:]}"
        elif row.kind in ("system", "message"):
            found[row] = f"$.messages[{message}]"
            message += row.sign != ADDED
        else:
            found[row] = f"$.{row.kind}[{row.name}]"
    return found
