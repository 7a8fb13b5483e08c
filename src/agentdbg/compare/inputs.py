"""The input hash table: which segments of two model inputs are the same, without loading a single body.

A row is one segment: equal hash, another hash at the same place, or on one side only. What a message holds that was
retrieved is looked up when a row is opened, from the notes that the retriever left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from agentdbg.compare.alignment import ADDED, SAME, align
from agentdbg.model.canonical import loads_json
from agentdbg.model.records import BodyRef, Json, Kind, Segment, Step
from agentdbg.store.protocols import BodyMissing, RunSource

NOT_RECORDED: Final = "the record holds no segments of this input"
SCANNED: Final = 2_000
"""Steps looked back at for an earlier call of the lane, or for what was retrieved."""
CALLS_BACK: Final = 24
WRAPPING: Final = 120
"""How far before a retrieved text the words that introduce it may begin."""
SHORTEST: Final = 12
"""A retrieved text that is shorter proves nothing by standing in a message."""


@dataclass(frozen=True, slots=True)
class InputRow:
    """One row of the table.

    Attributes:
        sign: ``=``, ``~``, ``+`` (only in the second input) or ``-`` (only in the first).
        kind: Kind of the segment: ``system``, ``message``, ``tool_schema``, ``parameters``, ``retrieved``.
        name: Role, tool name or document id.
        a: The segment in the first input, with its place there.
        b: The segment in the second.
        i: Its place in the first input.
        j: Its place in the second.
        source: Where the segment came into the lane: ``step N``, or empty where that is not known.
    """

    sign: str
    kind: str
    name: str
    a: BodyRef | None
    b: BodyRef | None
    i: int | None
    j: int | None
    source: str = ""

    @property
    def cause(self) -> str:
        """The cause class that a difference in this row has, as far as hashes tell."""
        causes = {"parameters": "parameters", "tool_schema": "tool_schema", "system": "system"}
        return f"input.{'retrieved' if self.kind == 'retrieved' else causes.get(self.kind, 'history')}"

    def members(self) -> dict[str, object]:
        """As in the JSON documents."""
        return {
            "sign": self.sign,
            "kind": self.kind,
            "name": self.name,
            "hash_a": self.a.sha256 if self.a else None,
            "hash_b": self.b.sha256 if self.b else None,
            "size_a": self.a.size if self.a else None,
            "size_b": self.b.size if self.b else None,
            "source": self.source,
        }


@dataclass(frozen=True, slots=True)
class InputTable:
    """Attributes:
    rows: The segments, in order.
    note: Empty, or why the table says less than it should.
    """

    rows: tuple[InputRow, ...]
    note: str = ""

    @property
    def differing(self) -> tuple[InputRow, ...]:
        """The rows that are not equal."""
        return tuple(row for row in self.rows if row.sign != SAME)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A retrieved document, or the part of one, as the retriever noted it."""

    id: str
    source: str
    sha256: str
    text: str


def input_table(a: RunSource, step_a: Step | None, b: RunSource, step_b: Step | None) -> InputTable:
    """Compare the inputs of two model calls by hash; ``None`` stands for no call."""
    left = a.segments(step_a) if step_a is not None else ()
    right = b.segments(step_b) if step_b is not None else ()
    if not left and not right:
        return InputTable((), NOT_RECORDED)
    keys = ([_hash(part) for part in left], [_hash(part) for part in right])
    found = align(*keys, alike=[(lambda i: _place(left[i]), lambda j: _place(right[j]))])
    origins = {**origin_steps(a, step_a, left), **origin_steps(b, step_b, right)}
    rows = tuple(_row(left, right, row.sign, row.i, row.j, origins) for row in found.rows)
    lacking = (step_a is not None and not left) or (step_b is not None and not right)
    return InputTable(rows, NOT_RECORDED if lacking else found.note)


def input_change(source: RunSource, step: Step) -> InputTable:
    """Compare the input of a model call with that of the lane's previous call."""
    return input_table(source, previous_call(source, step), source, step)


def previous_call(source: RunSource, step: Step) -> Step | None:
    """The model call before ``step`` in its lane, if there is one near enough."""
    return next(_calls_before(source, step), None)


def origin_steps(source: RunSource, step: Step | None, segments: Sequence[Segment]) -> dict[str, str]:
    """For each segment's hash the earliest near call of the lane that sent it, in words."""
    if step is None:
        return {}
    found = {part.ref.sha256: step.n for part in segments}
    missing = set(found)
    for count, earlier in enumerate(_calls_before(source, step)):
        if count == CALLS_BACK or not missing:
            break
        missing &= {part.ref.sha256 for part in source.segments(earlier)}
        found |= dict.fromkeys(missing, earlier.n)
    return {digest: f"step {number}" for digest, number in found.items()}


def snippets(source: RunSource, step: Step) -> tuple[Snippet, ...]:
    """What was retrieved before ``step`` in its run, as far as the notes and their bodies tell; newest first."""
    found: dict[tuple[str, str], Snippet] = {}
    for note in _steps_before(source, step, Kind.RETRIEVAL):
        for snippet in _noted(source, note):
            found.setdefault((snippet.id, snippet.sha256), snippet)
    return tuple(found.values())


def snippets_in(text: str, among: Sequence[Snippet]) -> tuple[tuple[int, Snippet], ...]:
    """The snippets that stand in a text word for word, each with its place, in order of place."""
    places = ((text.find(snippet.text), snippet) for snippet in among if len(snippet.text) >= SHORTEST)
    return tuple(sorted(((at, snippet) for at, snippet in places if at >= 0), key=lambda pair: pair[0]))


def retrieved_by_segment(source: RunSource, step: Step) -> dict[int, tuple[Snippet, ...]]:
    """For each place in the input the retrieved snippets that its segment contains. Loads bodies."""
    among = snippets(source, step)
    found: dict[int, tuple[Snippet, ...]] = {}
    for place, part in enumerate(source.segments(step) if among else ()):
        held = tuple(snippet for _, snippet in snippets_in(_segment_text(source, part.ref), among))
        if held:
            found[place] = held
    return found


def changed_documents(a: RunSource, step_a: Step, b: RunSource, step_b: Step, row: InputRow) -> tuple[Snippet, ...]:
    """The retrieved snippets that make a differing row differ: not the same on both sides, or in another order.

    Empty where the difference begins in other text. Loads bodies.
    """
    before, after = (_segment_text(source, ref) if ref else "" for source, ref in ((a, row.a), (b, row.b)))
    held = [snippets_in(before, snippets(a, step_a)), snippets_in(after, snippets(b, step_b))]
    texts_a, texts_b = ([snippet.text for _, snippet in side] for side in held)
    if texts_a == texts_b:
        return ()
    first = _first_difference(before, after)
    same = set(texts_a) & set(texts_b) if sorted(texts_a) != sorted(texts_b) else set()
    changed = [(at, snippet) for side in held for at, snippet in side if snippet.text not in same]
    if not any(at - WRAPPING <= first < at + len(snippet.text) for at, snippet in changed):
        return ()
    return tuple(dict.fromkeys(snippet for _, snippet in changed))


def settled_cause(a: RunSource, step_a: Step, b: RunSource, step_b: Step, row: InputRow) -> str:
    """The cause class of a differing row once its bodies are looked at: retrieved text told from other history."""
    if row.cause in ("input.history", "input.system") and changed_documents(a, step_a, b, step_b, row):
        return "input.retrieved"
    return row.cause


def _row(
    left: Sequence[Segment],
    right: Sequence[Segment],
    sign: str,
    i: int | None,
    j: int | None,
    origins: dict[str, str],
) -> InputRow:
    a, b = left[i] if i is not None else None, right[j] if j is not None else None
    shown = b if a is None or sign == ADDED else a
    if shown is None:
        raise ValueError("a row without a segment")
    source = origins.get(shown.ref.sha256, "")
    return InputRow(sign, shown.kind, shown.name, a.ref if a else None, b.ref if b else None, i, j, source)


def _hash(part: Segment) -> str:
    return f"{part.kind}\0{part.ref.sha256}"


def _place(part: Segment) -> tuple[str, str]:
    return part.kind, part.name


@runtime_checkable
class _Selects(Protocol):
    """A source that finds steps of a kind without building the others."""

    def positions(self, *, kinds: Sequence[Kind]) -> Sequence[int]:
        """Positions of the steps of these kinds, sorted."""


def _steps_before(source: RunSource, step: Step, kind: Kind) -> Iterator[Step]:
    steps = source.steps()
    if isinstance(source, _Selects):
        places = source.positions(kinds=[kind])
        found = [place for place in places if place < step.n - 1][-SCANNED:]
    else:
        found = list(range(max(0, step.n - 1 - SCANNED), step.n - 1))
    for place in reversed(found):
        earlier = steps[place]
        if earlier.kind is kind:
            yield earlier


def _calls_before(source: RunSource, step: Step) -> Iterator[Step]:
    return (call for call in _steps_before(source, step, Kind.MODEL) if call.lane == step.lane)


def _noted(source: RunSource, note: Step) -> Iterator[Snippet]:
    value = _body(source, note.result if note.is_call else note.arguments)
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            members = [item.get(name) for name in ("id", "source", "sha256", "text")]
            yield Snippet(*(member if isinstance(member, str) else "" for member in members))


def _segment_text(source: RunSource, ref: BodyRef) -> str:
    """All texts of a segment, one after the other."""
    found: list[str] = []
    waiting = [_body(source, ref)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
    return "\n".join(found)


def _body(source: RunSource, ref: BodyRef | None) -> Json:
    if ref is None:
        return None
    try:
        return loads_json(source.body(ref))
    except (BodyMissing, ValueError):
        return None


def _first_difference(a: str, b: str) -> int:
    shortest = min(len(a), len(b))
    return next((k for k in range(shortest) if a[k] != b[k]), shortest)
