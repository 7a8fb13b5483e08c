"""One step with its bodies, as text or as members of a JSON document."""

from __future__ import annotations

import base64
import json
from typing import Final

from agentdbg.cli.describe import ref_members
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import block, console, local_time, print_facts, text
from agentdbg.debugging.document import duration_words
from agentdbg.i18n.catalogue import message
from agentdbg.model.canonical import loads_json
from agentdbg.model.records import BodyRef, Origin, Step
from agentdbg.store.protocols import BodyMissing, RunSource

_WITH_ORIGIN: Final = (
    "name",
    "input",
    "input_hash",
    "fingerprint",
    "arguments",
    "result",
    "started_at",
    "latency_ms",
    "usage",
)


def print_step(invocation: Invocation, source: RunSource, step: Step) -> None:
    """Print a step: what it was, its input or arguments, its result."""
    print_facts(invocation, [(message(f"step.{key}"), value) for key, value in _pairs(step) if value not in (None, "")])
    rebuilt = _origin_words(source, step, "input")
    for segment in source.segments(step):
        heading = " ".join(part for part in (segment.kind, segment.name, rebuilt) if part)
        _print_body(invocation, source, heading, segment.ref)
    for heading, ref in (("arguments", step.arguments), ("result", step.result)):
        if ref is not None:
            named = " ".join(filter(None, (message(f"step.{heading}"), _origin_words(source, step, heading))))
            _print_body(invocation, source, named, ref)


def bodies(source: RunSource, step: Step) -> dict[str, object]:
    """The step's bodies, as members that replace the bare references."""
    return {
        "arguments": _body_members(source, step.arguments),
        "result": _body_members(source, step.result),
        "segments": [
            {"kind": segment.kind, "name": segment.name, **(_body_members(source, segment.ref) or {})}
            for segment in source.segments(step)
        ],
        "origins": {name: source.origin(step, name) for name in _WITH_ORIGIN},
    }


def _origin_words(source: RunSource, step: Step, name: str) -> str:
    """A word of warning where a value was not recorded."""
    origin = source.origin(step, name)
    return message("step.not_recorded", origin=origin) if origin in (Origin.REBUILT, Origin.DERIVED) else ""


def _pairs(step: Step) -> list[tuple[str, object]]:
    return [
        ("step", f"{step.n}  ({step.id})"),
        ("kind", step.kind),
        ("name", step.name),
        ("effect", step.effect),
        ("status", step.status),
        ("started", local_time(step.started_at) if step.started_at else None),
        ("took", duration_words(step.latency_ms) if step.latency_ms is not None else None),
        ("lane", step.lane),
        ("parent", step.parent),
        ("fingerprint", step.fingerprint),
        ("input_hash", step.input_hash),
        ("key", step.idempotency_key),
        ("error", f"{step.error.type}: {step.error.message}" if step.error else None),
        ("holes", "; ".join(step.holes)),
        ("attrs", _one_line(step.attrs)),
    ]


def _print_body(invocation: Invocation, source: RunSource, heading: str, ref: BodyRef) -> None:
    out = console(invocation)
    out.print()
    out.print(text(f"{heading}  {ref.sha256[:12]}  {ref.size} B", "bold"))
    try:
        raw = source.body(ref)
    except BodyMissing as error:
        out.print(text(message("step.body_missing", reason=error), "yellow"))
        return
    out.print(block(_readable(raw)))


def _readable(raw: bytes) -> str:
    """JSON laid out over lines, else the text as it is."""
    try:
        return json.dumps(loads_json(raw), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return raw.decode(errors="backslashreplace")


def _body_members(source: RunSource, ref: BodyRef | None) -> dict[str, object] | None:
    if ref is None:
        return None
    members: dict[str, object] = dict(ref_members(ref) or {})
    try:
        raw = source.body(ref)
    except BodyMissing as error:
        return {**members, "missing": str(error)}
    try:
        return {**members, "value": loads_json(raw)}
    except (ValueError, RecursionError):
        pass  # not JSON, or deeper than anything sensible: shown as text
    try:
        return {**members, "text": raw.decode()}
    except UnicodeDecodeError:
        return {**members, "base64": base64.b64encode(raw).decode()}


def _one_line(attrs: object) -> str:
    dumped = json.dumps(attrs, ensure_ascii=False, default=str) if attrs else ""
    return dumped if len(dumped) <= 2000 else dumped[:2000] + "…"
