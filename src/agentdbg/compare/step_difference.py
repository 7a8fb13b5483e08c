"""What differs between two steps that stand at the same place of two runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from agentdbg.compare.first_difference import ABSENT, Difference, first_difference
from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.records import BodyRef, ErrorInfo, Json, Kind, Segment, Step, StepStatus
from agentdbg.model.segments import Part, join_request
from agentdbg.store.protocols import BodyMissing, RunSource

ENCLOSING = frozenset((Kind.AGENT, Kind.NODE))
_NOTES = frozenset((Kind.CHECKPOINT, Kind.RETRIEVAL, Kind.READ, Kind.CONFIG, Kind.MESSAGE, Kind.EFFECT, Kind.NODE))
_BOOKKEEPING = frozenset(
    (
        *("fork", "served_from", "surrogates", "stream", "chunks", "effect_declared", "can_resume", "unsafe_reasons"),
        *("seed", "seed_holes"),  # where a body lies differs; what it holds is in the checkpoint
        "handoffs",  # what threads handed to each other: the order that an exact replay keeps, with moments in it
    )
)
_NOTE_CAUSES = {
    Kind.RETRIEVAL: "input.retrieved",
    Kind.CONFIG: "version",
    Kind.READ: "environment",
    Kind.CHECKPOINT: "result",
}
_INPUT_CAUSES = {
    "model": "model_id",
    "tools": "input.tool_schema",
    "system": "input.system",
    "instructions": "input.system",
    "systemInstruction": "input.system",
    "system_instruction": "input.system",
    "toolConfig": "input.tool_schema",
    "prompt": "input.history",
}
_PLACEHOLDER = re.compile("⟦R:[^⟧]*⟧")


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a run first parts from another.

    Attributes:
        step: Ordinal of the step in the first run, or in the second when the first has no such step.
        id: That step's permanent id.
        path: JSON path, or the name of the fact that differs.
        cause: Cause class as in the command line contract.
        reordered: Both sides hold the same words, in another order.
    """

    step: int
    id: str
    kind: str
    name: str
    path: str
    expected: str
    got: str
    cause: str
    reordered: bool = False


class Sameness(Protocol):
    """Decides what counts as the same."""

    def bodies(self, a: BodyRef | None, b: BodyRef | None) -> bool:
        """Whether two bodies are the same."""

    def texts(self, a: str, b: str) -> bool:
        """Whether two short texts (names, messages) are the same."""


class ByHash:
    """Bytes and nothing else."""

    def bodies(self, a: BodyRef | None, b: BodyRef | None) -> bool:
        """Whether the hashes are equal."""
        return (a.sha256 if a else None) == (b.sha256 if b else None)

    def texts(self, a: str, b: str) -> bool:
        """Whether the texts are equal."""
        return a == b


class StepJudge:
    """Compares pairs of steps of two runs."""

    def __init__(self, recorded: RunSource, other: RunSource, same: Sameness) -> None:
        self._recorded, self._other, self._same = recorded, other, same

    def intent(self, a: Step, b: Step) -> Divergence | None:
        """Compare what was asked: kind, name, place in the run, input, arguments; of a note, all of it."""
        for path, left, right, cause in self._facts(a, b):
            if not self._same.texts(left, right):
                return divergence(a, path, left or ABSENT, right or ABSENT, cause)
        if a.input_hash != b.input_hash and (found := self._input(a, b)) is not None:
            return found
        if not self._same.bodies(a.arguments, b.arguments):
            return self._bodies(a, a.arguments, b.arguments, _NOTE_CAUSES.get(a.kind, "arguments"))
        return self._attributes(a, b) if a.kind in _NOTES or a.kind is Kind.APPROVAL else None

    def outcome(self, a: Step, b: Step) -> Divergence | None:
        """Compare how two calls ended that have both ended."""
        if a.status is not b.status:
            return divergence(a, "status", a.status.value, b.status.value, "result")
        if a.error != b.error and (found := self.errors(a, "error", a.error, b.error)) is not None:
            return found
        if not self._same.bodies(a.result, b.result):
            return self._bodies(a, a.result, b.result, "model_output" if a.kind is Kind.MODEL else "result")
        return None

    def errors(self, at: Step, where: str, a: ErrorInfo | None, b: ErrorInfo | None) -> Divergence | None:
        """Compare two errors by class and message."""
        for path, left, right in _errors(where, a, b):
            if not self._same.texts(left, right):
                return divergence(at, path, left or ABSENT, right or ABSENT, "result")
        return None

    def _facts(self, a: Step, b: Step) -> Iterator[tuple[str, str, str, str]]:
        if a.kind is b.kind is Kind.MODEL:
            yield "name", a.name, b.name, "model_id"
        else:
            yield "$", called(a), called(b), "order"
        yield "effect", a.effect or "", b.effect or "", "version"
        yield "idempotency_key", a.idempotency_key or "", b.idempotency_key or "", "arguments"
        yield "spawned", _spawned(a), _spawned(b), "order"

    def _attributes(self, a: Step, b: Step) -> Divergence | None:
        left, right = ({k: v for k, v in step.attrs.items() if k not in _BOOKKEEPING} for step in (a, b))
        expected, got = dict(sorted(left.items())), dict(sorted(right.items()))
        if self._same.texts(dumps_json(expected), dumps_json(got)):
            return None
        found = first_difference(expected, got) or Difference("$", "", "")
        return divergence(a, f"attrs{found.path[1:]}", found.expected, found.got, "version")

    def _bodies(self, a: Step, left: BodyRef | None, right: BodyRef | None, cause: str) -> Divergence:
        try:
            expected, got = _value(self._recorded, left), _value(self._other, right)
        except BodyMissing as problem:
            return divergence(a, "$", _short(left), f"{_short(right)} ({problem})", cause)
        found = first_difference(expected, got) or Difference("$", _short(left), _short(right))
        what = divergence(a, found.path, found.expected, found.got, cause)
        return replace(what, reordered=_reordered(expected, got))

    def _input(self, a: Step, b: Step) -> Divergence | None:
        left, right = self._recorded.segments(a), self._other.segments(b)
        if [(part.kind, part.name) for part in left] == [(part.kind, part.name) for part in right] and all(
            self._same.bodies(x.ref, y.ref) for x, y in zip(left, right, strict=True)
        ):
            return None
        try:
            expected, got = _request(self._recorded, left), _request(self._other, right)
        except (BodyMissing, ValueError) as problem:
            return divergence(a, "$", "the recorded input", str(problem), "input.history")
        found = first_difference(expected, got) or Difference("$", _short_input(a), _short_input(b))
        what = divergence(a, found.path, found.expected, found.got, _input_cause(found.path, expected, got))
        return replace(what, reordered=_reordered(expected, got))


def divergence(step: Step, path: str, expected: str, got: str, cause: str) -> Divergence:
    """A divergence at a step; one that lies in redacted values alone has that as its cause."""
    if _differs_in_what_was_redacted(expected, got):
        cause = "redaction"
    return Divergence(step.n, step.id, step.kind.value, step.name, path, expected, got, cause)


def _differs_in_what_was_redacted(expected: str, got: str) -> bool:
    """Whether two texts are the same but for what stands in the place of a placeholder on either side."""
    return _fits(_PLACEHOLDER.split(expected), got) or _fits(_PLACEHOLDER.split(got), expected)


def _fits(parts: Sequence[str], text: str) -> bool:
    """Whether a text is these parts, in this order, with something between them."""
    if len(parts) < 2 or not text.startswith(parts[0]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        found = text.find(part, at + 1)
        if found < 0:
            return False
        at = found + len(part)
    return text.endswith(parts[-1]) and at < len(text) - len(parts[-1])


def called(step: Step) -> str:
    """A step as people call it."""
    return f"{step.kind.value} {step.name}"


def has_ended(step: Step) -> bool:
    """Whether a step has an outcome."""
    return step.status is not StepStatus.OPEN


def _spawned(step: Step) -> str:
    fork = step.attrs.get("fork")
    return "" if fork is None else f"after {fork} events of its parent"


def _errors(where: str, a: ErrorInfo | None, b: ErrorInfo | None) -> Iterator[tuple[str, str, str]]:
    yield f"{where}.type", a.type if a else "", b.type if b else ""
    yield f"{where}.message", a.message if a else "", b.message if b else ""


def _reordered(expected: Json, got: Json) -> bool:
    left, right = (re.findall(r"\w+", dumps_json(value)) for value in (expected, got))
    return len(left) > 1 and left != right and sorted(left) == sorted(right)


def _value(source: RunSource, ref: BodyRef | None) -> Json:
    if ref is None:
        return ABSENT
    body = source.body(ref)
    try:
        return loads_json(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _request(source: RunSource, segments: Sequence[Segment]) -> Json:
    return join_request([Part(part.kind, part.name, loads_json(source.body(part.ref))) for part in segments])


def _input_cause(path: str, *requests: Json) -> str:
    top = path.removeprefix("$").lstrip(".").partition(".")[0].partition("[")[0]
    if top in ("messages", "input", "contents"):
        roles = {_role(request, top, path) for request in requests}
        return "input.system" if roles & {"system", "developer"} else "input.history"
    return _INPUT_CAUSES.get(top, "input.parameters")


def _role(request: Json, member: str, path: str) -> str:
    number = path.partition("[")[2].partition("]")[0]
    items = request.get(member) if isinstance(request, Mapping) else None
    if not isinstance(items, list) or not number.isdigit() or int(number) >= len(items):
        return ""
    item = items[int(number)]
    return str(item.get("role", "")) if isinstance(item, Mapping) else ""


def _short(ref: BodyRef | None) -> str:
    return ABSENT if ref is None else ref.sha256[:12]


def _short_input(step: Step) -> str:
    return (step.input_hash or ABSENT)[:12]
