"""The steps of a run as bare hashes, for comparing whole runs: read without building a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agentdbg.model import lanes
from agentdbg.model.records import BodyRef, Json, Step, StepStatus
from agentdbg.store.columns import unpack
from agentdbg.store.protocols import RunSource
from agentdbg.store.reader import DirectoryRunSource
from agentdbg.store.records import skim_record

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
            skeleton, line, names = source._skeleton, source._files.line, source._lane_names
            for position in range(start, min(start + _AT_ONCE, len(skeleton.order))):
                packed = skeleton.order.at(position)
                writer, row = unpack(packed)
                rows = skeleton.writers[writer]
                intent = skim_record(line(writer, rows.offsets[row])) or {}
                lane = names.get(skeleton.lanes[rows.lanes[row]], lanes.ROOT)
                if intent.get("e") == "step":
                    yield _outlined(intent, intent, lane)
                elif ended := rows.outcomes[row]:
                    yield _outlined(intent, skim_record(line(writer, ended - 1)) or {}, lane)
                else:
                    yield _outlined(intent, _outcome_elsewhere(source, packed), lane)


def _outcome_elsewhere(source: DirectoryRunSource, packed: int) -> dict[str, Json]:
    """The outcome of a step that another writer recorded; empty while it is open."""
    for writer, offset in source._skeleton.records_of(packed)[1:]:
        record = skim_record(source._files.line(writer, offset)) or {}
        if record.get("e") == "outcome":
            return record
    return {}


def _outlined(intent: dict[str, Json], outcome: dict[str, Json], lane: str) -> StepOutline:
    given, arguments, result = intent.get("input"), intent.get("args"), outcome.get("result")
    status = StepStatus.OPEN.value if not outcome else outcome.get("status", "ok" if outcome is intent else "error")
    error = outcome.get("error")
    found = (
        intent.get("kind"),
        intent.get("name"),
        lane,
        status,
        given.get("hash") if type(given) is dict else None,
        arguments.get("sha256") if type(arguments) is dict else None,
        result.get("sha256") if type(result) is dict else None,
        _error(error) if error is not None else None,
        intent.get("fp"),
        intent.get("key"),
    )
    for value in found:
        if type(value) is not str and value is not None:
            return _whole(tuple(_text(value) for value in found))
    return _whole(found)


def _whole(found: tuple[Json, ...]) -> StepOutline:
    """An outline whose obligatory members are there, whatever the record lacks."""
    if found[0] is None or found[1] is None or found[3] is None:
        found = (found[0] or "node", found[1] or "", found[2], found[3] or StepStatus.ERROR.value, *found[4:])
    return StepOutline._make(found)


def _digest_of(ref: BodyRef | None) -> str | None:
    return ref.sha256 if ref is not None else None


def _error(error: Json) -> str | None:
    if isinstance(error, dict):
        return f"{_text(error.get('type')) or ''}: {_text(error.get('message')) or ''}"
    return f": {error}" if isinstance(error, str) and error else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
