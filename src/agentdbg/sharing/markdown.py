"""The evidence of a run as one Markdown page.

Whatever is in the record stays text: no HTML, no links, no images, no headings of its own, no escape from a code block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from agentdbg.model.records import BodyRef, Json, Kind, Segment, Step
from agentdbg.model.safe_text import safe_block, safe_line
from agentdbg.sharing.evidence import Evidence
from agentdbg.sharing.json_text import pretty

MAX_BODY: Final = 16_000
"""Characters of a body that are shown; its hash names the whole."""
_NOTHING: Final = "–"
_SPECIAL: Final = re.compile(
    r"[\\`*\[\]<>#|~&$@]|(?<![a-z0-9])_|_(?![a-z0-9])"
    r"|:(?=//|[\w+-]{0,50}[a-z][\w+-]{0,50}:)|(?<=www)\.",
    re.IGNORECASE,
)
"""What means something to Markdown or HTML, in the middle of a line; a colon before ``//`` or as part of ``:name:``."""
_LONGEST_CELL: Final = 400
_TICKS: Final = re.compile(r"`+")


def write_markdown(evidence: Evidence) -> Iterator[str]:
    """The page, piece by piece; every piece ends with a newline."""
    run = evidence.run_members()
    yield f"# Run {inline(run['run_id'])}\n\n"
    yield from _table(("", ""), [(name, _words(value)) for name, value in run.items() if _words(value)])
    yield "\n## Steps\n\n"
    yield from _table(("step", "kind", "effect", "status", "ms", "name"), (_row(evidence, s) for s in evidence.steps()))
    before: frozenset[str] = frozenset()
    for step in evidence.steps():
        yield from _step(evidence, step, before)
        if step.kind is Kind.MODEL:
            before = frozenset(segment.ref.sha256 for segment in evidence.segments(step))


def inline(value: object) -> str:
    """Any recorded text inside a line or a table: one line, and nothing in it means anything to Markdown or HTML."""
    line = safe_line(str(value))
    if len(line) > _LONGEST_CELL:
        line = safe_line(line[:_LONGEST_CELL] + "…")
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", line)


def fenced(recorded: str, language: str = "") -> str:
    """Any recorded text as a code block that it cannot end."""
    shown = safe_block(recorded)
    longest = max((len(ticks) for ticks in _TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}{'' if shown.endswith(chr(10)) else chr(10)}{fence}\n"


def _step(evidence: Evidence, step: Step, before: frozenset[str]) -> Iterator[str]:
    members = evidence.step_members(step)
    yield f"\n## {step.n} {step.kind.value} {inline(members['name'] or _NOTHING)}\n\n"
    shown = [name for name in members if name not in ("step", "kind", "name", "depth", "arguments", "result")]
    yield from _table(("", ""), [(name, _words(members[name])) for name in shown if _words(members[name])])
    segments = evidence.segments(step)
    if segments:
        yield from _input(evidence, step, segments, before)
    for title, ref in (("arguments", step.arguments), ("result", step.result)):
        if ref is not None:
            yield from _body(evidence, f"{title}{_origin(evidence, step, title)}", ref)


def _input(evidence: Evidence, step: Step, segments: Sequence[Segment], before: frozenset[str]) -> Iterator[str]:
    yield f"\n### input{_origin(evidence, step, 'input')}\n\n"
    rows = [
        (
            "=" if segment.ref.sha256 in before else "+",
            segment.kind,
            evidence.text(segment.name),
            segment.ref.sha256[:12],
            str(segment.ref.size),
        )
        for segment in segments
    ]
    yield from _table(("", "kind", "name", "hash", "bytes"), rows)
    for number, segment in enumerate(segments, 1):
        if segment.ref.sha256 not in before:
            name = " ".join(part for part in (segment.kind, evidence.text(segment.name)) if part)
            yield from _body(evidence, f"{number} {name}", segment.ref)


def _body(evidence: Evidence, title: str, ref: BodyRef) -> Iterator[str]:
    body = evidence.body(ref)
    note = ", redacted when it was shared" if body.redacted else ""
    yield f"\n### {inline(title)} ({ref.size} bytes, {ref.sha256[:12]}{note})\n\n"
    if body.missing:
        yield f"{inline(body.missing)}\n"
        return
    text, language = (body.value, "text") if isinstance(body.value, str) else (pretty(body.value), "json")
    yield fenced(text[:MAX_BODY], language)
    if len(text) > MAX_BODY:
        yield f"\n… and {len(text) - MAX_BODY} more characters.\n"


def _origin(evidence: Evidence, step: Step, field: str) -> str:
    origin = evidence.origins(step).get(field)
    return f" ({origin.value}, not recorded)" if origin else ""


def _row(evidence: Evidence, step: Step) -> tuple[str, ...]:
    effect = step.effect.value if step.effect else _NOTHING
    took = _NOTHING if step.latency_ms is None else f"{step.latency_ms:.0f}"
    return str(step.n), step.kind.value, effect, step.status.value, took, evidence.text(step.name)


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |\n|{' --- |' * len(head)}\n"
    for row in rows:
        yield f"| {' | '.join(inline(cell) for cell in row)} |\n"


def _words(value: Json) -> str:
    """A member as one line; empty where it says nothing."""
    if value in (None, "", [], {}, ()):
        return ""
    if isinstance(value, float) and 1e8 < value < 1e11:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    if isinstance(value, dict) and set(value) == {"value", "origin"}:
        return f"{_words(value['value'])} ({_words(value['origin'])})"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_words(item)}" for key, item in value.items() if _words(item))
    if isinstance(value, list):
        return "; ".join(_words(item) for item in value)
    return str(value)
