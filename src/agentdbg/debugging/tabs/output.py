"""Output: what came back. For a model call the assembled answer, for anything else the result."""

from __future__ import annotations

from agentdbg.debugging.capabilities import KeepsRecords
from agentdbg.debugging.dialects import Spoken, read_output
from agentdbg.debugging.document import Block, Document, Row, Section, Tone, fixed, note, row, size_words
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import body_section, heading, labelled, missing_row, origin_note, read_block, short
from agentdbg.debugging.tabs.speech import json_rows, text_rows
from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json, Kind, Step, StepStatus
from agentdbg.model.safe_text import SafeText
from agentdbg.store.protocols import BodyMissing, RunSource


def output_tab(session: Session) -> Document:
    """The document of the Output tab."""
    step = session.current
    if step is None:
        return Document((note("empty", "no step yet"),))
    sections: list[Section] = []
    if step.status is not StepStatus.OK or step.error is not None:
        sections.append(fixed("outcome", outcome_rows(step)))
    if step.result is None:
        partial = _stream_so_far(session.source, step)
        if partial is not None:
            return Document((*sections, partial))
        sections.append(note("empty", _silence(session, step)))
        return Document(tuple(sections))
    if step.kind is not Kind.MODEL:
        sections.append(body_section(session.source, "result", "Result", step.result))
        return Document(tuple(sections))
    ref, source = step.result, session.source
    facts = f"  {size_words(ref.size)} · {short(ref.sha256)}"
    title = heading("Answer", (facts, Tone.DIM), origin_note(source, step, "result"))
    sections.append(Section("answer", title, lambda: _answer(source, step), ref.size))
    sections.append(
        Section(
            "response", heading("Response", (facts, Tone.DIM)), lambda: read_block(source, ref), ref.size, open=False
        )
    )
    return Document(tuple(sections))


def _silence(session: Session, step: Step) -> str:
    if step.status is not StepStatus.OPEN:
        return "no output"
    return "no outcome yet" if session.live else "no outcome was recorded: the intent stands alone"


def outcome_rows(step: Step) -> list[Row]:
    """How a step ended when it did not simply end well."""
    rows = [labelled("Status", (str(step.status), Tone.OK if step.status is StepStatus.OK else Tone.WARN))]
    if step.error is not None:
        rows.append(labelled("Error", (step.error.type, Tone.ERROR)))
        rows.extend(row(" " * 14, (line, Tone.ERROR)) for line in step.error.message.split("\n"))
    return rows


def read_answer(source: RunSource, step: Step) -> Spoken | None:
    """The assembled output of a model call.

    Raises:
        BodyMissing: The body cannot be read.
    """
    if step.result is None:
        return None
    try:
        return read_output(loads_json(source.body(step.result)))
    except ValueError:
        return None


def _stream_so_far(source: RunSource, step: Step) -> Section | None:
    """What an unfinished stream had brought."""
    if step.kind is not Kind.MODEL or not isinstance(source, KeepsRecords):
        return None
    refs = source.chunks(step)
    if not refs:
        return None

    def load() -> Block:
        events: list[Json] = []
        try:
            for ref in refs:
                part = loads_json(source.body(ref))
                events.extend(part if isinstance(part, list) else [part])
        except BodyMissing as problem:
            return Block([missing_row(problem)])
        except ValueError:
            return Block([row(("the stream is in no known shape", Tone.DIM))])
        spoken = read_output(events)
        return Block(text_rows(spoken.text) if spoken is not None else [row(("nothing yet", Tone.DIM))])

    return Section("stream", heading("Stream so far"), load, sum(ref.size for ref in refs))


def _answer(source: RunSource, step: Step) -> Block:
    try:
        spoken = read_answer(source, step)
        raw = source.body(step.result) if step.result is not None else b""
    except BodyMissing as problem:
        return Block([missing_row(problem)])
    if spoken is None:
        return Block([row(("in no known shape: see Response below", Tone.DIM))], raw=raw)
    lines: list[SafeText | Row] = []
    if spoken.reasoning:
        lines.extend(
            [row(("reasoning", Tone.LABEL)), *(row((line, Tone.DIM)) for line in spoken.reasoning.split("\n")), row("")]
        )
    if spoken.text:
        lines.extend([*text_rows(spoken.text), row("")])
    for tool in spoken.tools:
        lines.append(row(("→ ", Tone.ACCENT), (tool.name, Tone.TOOL), (f"  {tool.call_id}", Tone.DIM)))
        lines.extend([*json_rows(tool.arguments, indent="  "), row("")])
    lines.extend(_facts(step, spoken))
    return Block(lines, raw=spoken.text.encode("utf-8", "surrogatepass") if spoken.text else raw)


def _facts(step: Step, spoken: Spoken) -> list[Row]:
    rows = []
    if spoken.stop:
        rows.append(labelled("Stop reason", spoken.stop))
    if spoken.model:
        rows.append(labelled("Model", spoken.model))
    usage = step.usage
    if usage is not None:
        parts = [
            f"{count} {word}"
            for count, word in ((usage.input, "in"), (usage.cached, "cached"), (usage.output, "out"))
            if count is not None
        ]
        rows.append(labelled("Tokens", " · ".join(parts)))
    elif spoken.usage:
        rows.append(
            labelled(
                "Tokens", " · ".join(f"{key} {value}" for key, value in spoken.usage.items() if isinstance(value, int))
            )
        )
    return rows
