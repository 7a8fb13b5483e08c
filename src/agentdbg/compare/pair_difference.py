"""In what two paired steps differ: place, values and cause class of each difference, and whether it says something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentdbg.compare import inputs
from agentdbg.compare.alignment import ADDED, SAME
from agentdbg.compare.chance import CLOCK, REDACTION, VERSION, Chance
from agentdbg.compare.fields import FieldChange, diff_bodies
from agentdbg.compare.first_difference import ABSENT
from agentdbg.compare.inputs import InputRow, InputTable, input_table
from agentdbg.compare.pairs import ARGUMENTS, CONTENT, ERROR, INPUT, KEY, NAME, OUTPUT, RESULT, STATUS, StepPair
from agentdbg.compare.step_difference import Divergence
from agentdbg.compare.trajectory import called
from agentdbg.model.records import BodyRef, Kind, Step
from agentdbg.store.protocols import BodyMissing, RunSource

NO_STEP: Final = "(no such step)"
_SHOWN: Final = 200
_NOTE_CAUSES: Final = {Kind.RETRIEVAL: "input.retrieved", Kind.CONFIG: "version", Kind.READ: "environment"}
_MODEL_IDS: Final = frozenset(((OUTPUT, "$.model"), (OUTPUT, "$.system_fingerprint"), (INPUT, "$.model")))
WEAK: Final = {
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
        return self.why not in WEAK.values()


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


class PairJudge:
    """Looks at pairs of steps of two runs.

    Attributes:
        notes: One line for each reason why the answers say less than they should.
    """

    def __init__(self, a: RunSource, b: RunSource, chance: Chance | None = None, limit: int = 1) -> None:
        """Prepare for two runs.

        Args:
            a: The run that is the measure.
            b: The other.
            chance: What they had from chance, when it is known already.
            limit: How many fields of each body are wanted; of one alone, the first that says something.
        """
        self.notes: list[str] = []
        self._a, self._b, self._chance, self._limit = a, b, chance or Chance(a, b), limit

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
        step_a, step_b = steps_of(self._a, self._b, pair)
        step = step_a or step_b
        if step is None:
            return
        if step_a is None or step_b is None:
            names = [called(one) if one is not None else NO_STEP for one in (step_a, step_b)]
            yield Parting(_divergence(step, "$", names[0], names[1], "order"), "", "", pair)
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
        """The first telling change (token counts last), else the first of all; or as many as are wanted."""
        if self._limit != 1:
            return changes[: self._limit]
        return sorted(self._chance.telling(changes) or changes, key=lambda change: change.path.startswith("$.usage"))[
            :1
        ]

    def _parting(self, a: Step, change: FieldChange, aspect: str, cause: str, pair: StepPair) -> Parting:
        kind = self._chance.kind_of(change)
        before, after = change.before_text(_SHOWN), change.after_text(_SHOWN)
        if kind:
            cause = kind
        elif _placeholders(change.before) != _placeholders(change.after):
            cause = REDACTION
        elif (aspect, change.path) in _MODEL_IDS:
            cause = "model_id"
        return Parting(_divergence(a, change.path, before, after, cause), aspect, WEAK.get(kind, ""), pair)

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


def steps_of(a: RunSource, b: RunSource, pair: StepPair) -> tuple[Step | None, Step | None]:
    """The steps of a pair."""
    return (
        a.steps()[pair.i] if pair.i is not None else None,
        b.steps()[pair.j] if pair.j is not None else None,
    )


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
