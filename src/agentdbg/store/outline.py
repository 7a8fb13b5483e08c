"""The steps of a run as bare hashes, for comparing whole runs: read without building a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agentdbg.model import lanes
from agentdbg.model.records import BodyRef, Json, Step, StepStatus
from agentdbg.store.protocols import RunSource
from agentdbg.store.reader import DirectoryRunSource
from agentdbg.store.records import skim_record

_CHUNK_RECORD = b'{"e":"chunk"'
_AT_ONCE = 256


class StepOutline(NamedTuple):
    """What tells one step from another.

    Attributes:
        kind: Kind of the step, as recorded.
        name: Its name.
        lane: Normalised lane.
        status: How it ended.
        input_hash: Hash of a model input.
        arguments: Hash of the arguments' body, or of a note's.
        result: Hash of the result's body.
        error: Class and message of its error.
        fingerprint: Fingerprint of the call.
        key: Idempotency key.
    """

    kind: str
    name: str
    lane: str
    status: str
    input_hash: str | None = None
    arguments: str | None = None
    result: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    key: str | None = None


def outline(source: RunSource) -> list[StepOutline]:
    """All steps known so far, in display order."""
    if isinstance(source, DirectoryRunSource):
        source.steps()
        return list(_skimmed(source))
    return [outline_of(step) for step in source.steps()]


def outline_of(step: Step) -> StepOutline:
    """The outline of one step."""
    return StepOutline(
        step.kind.value,
        step.name,
        step.lane,
        step.status.value,
        step.input_hash,
        _digest_of(step.arguments),
        _digest_of(step.result),
        f"{step.error.type}: {step.error.message}" if step.error else None,
        step.fingerprint,
        step.idempotency_key,
    )


def _skimmed(source: DirectoryRunSource) -> Iterator[StepOutline]:
    """Straight from the records; the lock is let go now and then, for whoever shows the run meanwhile."""
    for start in range(0, source.step_count(), _AT_ONCE):
        with source._lock:
            source._drop_stale()
            skeleton, line = source._skeleton, source._files.line
            for position in range(start, min(start + _AT_ONCE, len(skeleton.order))):
                packed = skeleton.order.at(position)
                lines = [line(writer, offset) for writer, offset in skeleton.records_of(packed)]
                yield _from_records(lines, source._lane_names.get(skeleton.lane(packed), lanes.ROOT))


def _from_records(lines: list[bytes], lane: str) -> StepOutline:
    records = [skim_record(line) or {} for line in lines if not line.startswith(_CHUNK_RECORD)]
    intent = records[0] if records else {}
    note = intent.get("e") == "step"
    outcome = intent if note else next((record for record in records[1:] if record.get("e") == "outcome"), {})
    status = outcome.get("status", StepStatus.OK.value if note else StepStatus.OPEN.value)
    given = intent.get("input")
    return StepOutline(
        _text(intent.get("kind")) or "node",
        _text(intent.get("name")) or "",
        lane,
        _text(status) or StepStatus.ERROR.value,
        _text(given.get("hash")) if isinstance(given, dict) else None,
        _digest(intent.get("args")),
        _digest(outcome.get("result")),
        _error(outcome.get("error")),
        _text(intent.get("fp")),
        _text(intent.get("key")),
    )


def _digest_of(ref: BodyRef | None) -> str | None:
    return ref.sha256 if ref is not None else None


def _digest(ref: Json) -> str | None:
    return _text(ref.get("sha256")) if isinstance(ref, dict) else None


def _error(error: Json) -> str | None:
    if isinstance(error, dict):
        return f"{_text(error.get('type')) or ''}: {_text(error.get('message')) or ''}"
    return f": {error}" if isinstance(error, str) and error else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
