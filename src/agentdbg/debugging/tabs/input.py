"""Input: what a step was given. For a model call its segments, for anything else its arguments."""

from __future__ import annotations

from functools import partial
from typing import Final

from agentdbg.debugging.document import Document, Row, Section, Tone, fixed, note, row, size_words
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import body_section, heading, origin_note, short
from agentdbg.debugging.tabs.segments import segment_block, table_sections
from agentdbg.model.records import Kind, Segment, Step

_OPEN_BODIES: Final = 3


def input_tab(session: Session) -> Document:
    """The document of the Input tab."""
    step = session.current
    if step is None:
        return Document((note("empty", "no step yet"),))
    segments = session.source.segments(step)
    if segments:
        return _segments(session, step, list(segments))
    if step.arguments is None:
        what = "the record has no input for this model call" if step.kind is Kind.MODEL else "this step takes no input"
        return Document((note("empty", what),))
    title = {Kind.RETRIEVAL: "Retrieved documents", Kind.CHECKPOINT: "State given"}.get(step.kind, "Arguments")
    if step.kind is Kind.RETRIEVAL and step.is_call and step.result is not None:
        return Document(
            (
                body_section(session.source, "query", "Query", step.arguments),
                body_section(session.source, "arguments", title, step.result),
            )
        )
    return Document((body_section(session.source, "arguments", title, step.arguments),))


def _segments(session: Session, step: Step, segments: list[Segment]) -> Document:
    messages = [i for i, segment in enumerate(segments) if segment.kind in ("message", "system")]
    opened = set(messages[-_OPEN_BODIES:])
    bodies = [
        Section(
            f"segment.{index}.{segment.ref.sha256[:12]}",
            _title(index, segment),
            partial(segment_block, session.source, segment.ref, segment.kind),
            segment.ref.size,
            open=index in opened,
        )
        for index, segment in enumerate(segments)
    ]
    warning = origin_note(session.source, step, "input")
    extra = (fixed("origin", [row(warning)]),) if warning.text else ()
    return Document((*extra, *table_sections(session, step), note("bodies", ""), *bodies))


def _title(index: int, segment: Segment) -> Row:
    name = f" {segment.name}" if segment.name else ""
    facts = f"  {size_words(segment.ref.size)} · {short(segment.ref.sha256)}"
    return heading(f"{index + 1} {segment.kind}{name}", (facts, Tone.DIM))
