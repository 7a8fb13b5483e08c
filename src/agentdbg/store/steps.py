"""Builds a ``Step`` from its records.

Every member may be missing or of the wrong type: the records come from outside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite

from agentdbg.model.records import BodyRef, Effect, ErrorInfo, Json, Kind, Step, StepStatus, Usage

_LARGEST = 2**53
_SHA = re.compile(r"[0-9a-f]{64}", re.ASCII)
_COMMON = frozenset({"e", "seq", "mono", "wall", "_c", "turn", "handoffs"})
"""Of any event: what and when, and what came before it in other threads and turns. None of it is of the step itself."""
_INTENT = _COMMON | frozenset(
    {"kind", "name", "parent", "lane", "effect", "fp", "afp", "key", "args", "input", "attrs", "holes", "status"}
)
_OUTCOME = _COMMON | frozenset({"of", "status", "ms", "result", "error", "usage", "attrs", "holes"})
_NOTE = _INTENT | _OUTCOME
_KINDS = {kind.value: kind for kind in Kind}
_EFFECTS = {effect.value: effect for effect in Effect}
_STATUSES = {status.value: status for status in StepStatus}


def body_ref(value: Json) -> BodyRef | None:
    """A reference as it stands in an event, or ``None`` when it is none: no digest, no body."""
    if not isinstance(value, dict):
        return None
    digest, size, file, offset = value.get("sha256"), value.get("size"), value.get("file"), value.get("offset")
    if not isinstance(digest, str) or not _SHA.fullmatch(digest):
        return None
    return BodyRef(
        digest,
        size if type(size) is int and 0 <= size < _LARGEST else 0,
        file if isinstance(file, str) else "",
        offset if type(offset) is int and 0 <= offset < _LARGEST else -1,
    )


def build_step(
    records: Sequence[dict[str, Json]], *, n: int, step_id: str, depth: int, lane: str, parent: str | None
) -> Step:
    """One step from its records: the intent or note first, then whatever came for it.

    Args:
        records: Parsed records of the step.
        n: Display ordinal.
        step_id: Permanent id.
        depth: Number of enclosing steps.
        lane: Normalised lane.
        parent: Id of the enclosing step; a recorded one that is unknown is kept.
    """
    intent = records[0]
    outcome = intent if intent.get("e") == "step" else next((r for r in records[1:] if r.get("e") == "outcome"), {})
    holes = _holes(records, intent, outcome)
    kind, effect = _kind(intent.get("kind"), holes), _effect(intent.get("effect"), holes)
    stated_parent = intent.get("parent")
    return Step(
        n=n,
        id=step_id,
        kind=kind,
        name=_text(intent.get("name")),
        effect=effect,
        status=_status(intent, outcome, holes),
        parent=parent or (stated_parent if isinstance(stated_parent, str) else None),
        depth=depth,
        lane=lane,
        started_at=_number(intent.get("wall")) or 0.0,
        latency_ms=_number(outcome.get("ms")),
        input_hash=_input_hash(intent.get("input")),
        fingerprint=_optional(intent.get("fp")),
        alpha_fingerprint=_optional(intent.get("afp")),
        arguments=_ref(intent, "args", holes),
        result=_ref(outcome, "result", holes),
        error=error_info(outcome.get("error")),
        usage=_usage(outcome.get("usage")),
        idempotency_key=_optional(intent.get("key")),
        holes=tuple(holes),
        attrs=_attrs(intent, outcome) | _count(records),
    )


def error_info(value: Json) -> ErrorInfo | None:
    """An error as it stands in an event or in ``run.json``."""
    if isinstance(value, dict):
        return ErrorInfo(_text(value.get("type")), _text(value.get("message")))
    return ErrorInfo("", value) if isinstance(value, str) and value else None


def _holes(records: Sequence[dict[str, Json]], intent: dict[str, Json], outcome: dict[str, Json]) -> list[str]:
    holes = _texts(intent["holes"]) if "holes" in intent else []
    if outcome is not intent and "holes" in outcome:
        holes += _texts(outcome["holes"])
    if len(records) > 1:
        holes += [_text(record.get("what")) for record in records[1:] if record.get("e") == "hole"]
    return holes


def _kind(value: Json, holes: list[str]) -> Kind:
    kind = _KINDS.get(value) if isinstance(value, str) else None
    if kind is None:
        holes.append(f"unknown kind of step: {_text(value)[:60] or 'none recorded'}")
        return Kind.NODE
    return kind


def _effect(value: Json, holes: list[str]) -> Effect | None:
    if value is None:
        return None
    effect = _EFFECTS.get(value) if isinstance(value, str) else None
    if effect is None:
        holes.append(f"unknown effect: {_text(value)[:60]}")
    return effect


def _status(intent: dict[str, Json], outcome: dict[str, Json], holes: list[str]) -> StepStatus:
    if not outcome:
        return StepStatus.OPEN
    value = outcome.get("status", "ok" if outcome is intent else None)
    status = _STATUSES.get(value) if isinstance(value, str) else None
    if status is None or status is StepStatus.OPEN:
        holes.append(f"unknown status: {_text(value)[:60] or 'none recorded'}")
        return StepStatus.ERROR
    return status


def _ref(record: dict[str, Json], name: str, holes: list[str]) -> BodyRef | None:
    value = record.get(name)
    ref = body_ref(value)
    if ref is None and value is not None:
        holes.append(f"the reference to {name} is damaged")
    return ref


def _attrs(intent: dict[str, Json], outcome: dict[str, Json]) -> dict[str, Json]:
    """Recorded facts, members that this version does not know included."""
    merged: dict[str, Json] = {}
    for record, known in ((intent, _NOTE if outcome is intent else _INTENT), (outcome, _OUTCOME)):
        attrs = record.get("attrs")
        if isinstance(attrs, dict):
            merged.update(attrs)
        if not record.keys() <= known and (record is not outcome or outcome is not intent):
            merged.update({key: value for key, value in record.items() if key not in known and value is not None})
    return merged


def _count(records: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """How often a repeated effect was seen, which is known at the end alone."""
    counts = [record.get("count") for record in records[1:] if record.get("e") == "count"]
    return {"count": counts[-1]} if counts else {}


def _input_hash(value: Json) -> str | None:
    return _optional(value.get("hash")) if isinstance(value, dict) else None


def _usage(value: Json) -> Usage | None:
    if not isinstance(value, dict):
        return None
    counts = [count if type(count) is int else None for count in map(value.get, ("input", "output", "cached"))]
    return Usage(*counts)


def _number(value: Json) -> float | None:
    if type(value) is int and abs(value) < 2**63:
        return float(value)
    return value if type(value) is float and isfinite(value) else None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)[:1000]


def _optional(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [_text(item) for item in value] if isinstance(value, list) else []
