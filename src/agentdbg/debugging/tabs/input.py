"""Input: what a step was given. For a model call its segments, for anything else its arguments."""

from __future__ import annotations

from collections.abc import Callable

from agentdbg.debugging.document import Block, Document, Row, Section, Tone, fixed, note, row, size_words
from agentdbg.debugging.jsontext import block_of
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import body_section, heading, labelled, missing_row, origin_note, short
from agentdbg.debugging.tabs.speech import spoken_in, spoken_lines
from agentdbg.model.records import Kind, Segment, Step
from agentdbg.store.protocols import BodyMissing, RunSource

_OPEN_BODIES = 3
_LOOK_BACK = 400


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
    return Document((body_section(session.source, "arguments", title, step.arguments),))


def _segments(session: Session, step: Step, segments: list[Segment]) -> Document:
    previous = _previous_call(session, step)
    before = list(session.source.segments(previous)) if previous is not None else []
    kept = {segment.ref.sha256 for segment in before}
    total = sum(segment.ref.size for segment in segments)
    against = f" · compared with step {previous.n}" if previous is not None else ""
    facts = labelled(
        "Input hash",
        (short(step.input_hash), Tone.STRONG),
        f"  {len(segments)} segments · {size_words(total)}{against}",
    )
    table = fixed("table", [facts, _header(), *(_table_row(i, s, kept, before) for i, s in enumerate(segments))])
    messages = [i for i, segment in enumerate(segments) if segment.kind in ("message", "system")]
    opened = set(messages[-_OPEN_BODIES:])
    bodies = [
        Section(
            f"segment.{index}.{segment.ref.sha256[:12]}",
            _title(index, segment, is_new=bool(before) and segment.ref.sha256 not in kept),
            _loader(session.source, segment),
            segment.ref.size,
            open=index in opened,
        )
        for index, segment in enumerate(segments)
    ]
    warning = origin_note(session.source, step, "input")
    extra = (fixed("origin", [row(warning)]),) if warning.text else ()
    return Document((*extra, table, *bodies))


def _header() -> Row:
    return row((f"{'':2}{'#':>3}  {'kind':<12} {'name':<18} {'hash':<8} {'size':>7}", Tone.DIM))


def _table_row(index: int, segment: Segment, kept: set[str], before: list[Segment]) -> Row:
    sign, tone = ("=", Tone.DIM) if segment.ref.sha256 in kept else ("+", Tone.OK)
    if not before:
        sign, tone = " ", Tone.DIM
    return row(
        (f"{sign} ", tone),
        (f"{index + 1:>3}  ", Tone.DIM),
        (f"{segment.kind:<12} ", _kind_tone(segment)),
        f"{segment.name[:18]:<18} ",
        (f"{short(segment.ref.sha256):<8} ", Tone.DIM),
        (f"{size_words(segment.ref.size):>7}", Tone.DIM),
    )


def _kind_tone(segment: Segment) -> Tone:
    return {"system": Tone.ACCENT, "message": Tone.MODEL, "tool_schema": Tone.TOOL, "retrieved": Tone.READ}.get(
        segment.kind, Tone.DIM
    )


def _title(index: int, segment: Segment, *, is_new: bool) -> Row:
    name = f" {segment.name}" if segment.name else ""
    facts = f"  {size_words(segment.ref.size)} · {short(segment.ref.sha256)}"
    new = ("  + new", Tone.OK) if is_new else ("", Tone.DIM)
    return heading(f"{index + 1} {segment.kind}{name}", (facts, Tone.DIM), new)


def _loader(source: RunSource, segment: Segment) -> Callable[[], Block]:
    def load() -> Block:
        try:
            data = source.body(segment.ref)
        except BodyMissing as problem:
            return Block([missing_row(problem)])
        spoken = spoken_in(data) if segment.kind in ("message", "system") else None
        return block_of(data) if spoken is None else Block(spoken_lines(spoken), raw=data)

    return load


def _previous_call(session: Session, step: Step) -> Step | None:
    """The model call before this one in its lane, if it is near."""
    for index in range(session.cursor - 1, max(session.cursor - _LOOK_BACK, -1), -1):
        other = session.steps[index]
        if other.kind is Kind.MODEL and other.lane == step.lane:
            return other
    return None
