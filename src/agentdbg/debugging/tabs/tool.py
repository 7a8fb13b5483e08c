"""Tool: a call as a whole: effect, identity, arguments, result, error."""

from __future__ import annotations

from agentdbg.compare.unseen import UnseenEffect, unseen
from agentdbg.debugging import marks
from agentdbg.debugging.document import Document, Row, Section, Tone, duration_words, fixed, note
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import body_section, effect_span, fact_rows, labelled, origin_note
from agentdbg.debugging.tabs.output import outcome_rows
from agentdbg.model.records import Kind, Step, StepStatus

_UNCOVERED = "» not covered: no seam saw it, and no recorded call serves it; an exact replay has to stop it"
_SAID = ("detail", "frame", "count", "under", "covered", "contradicts")
_EFFECT_WORDS = {
    "none": "touches nothing outside",
    "read": "reads outside state",
    "write": "changes outside state",
    "external": "irreversible outside the system",
}


def tool_tab(session: Session) -> Document:
    """The document of the Tool tab."""
    step = session.current
    if step is None:
        return Document((note("empty", "no step yet"),))
    if step.kind is Kind.MODEL:
        return Document((note("empty", "a model call, not a tool: what it asked for stands in Output"),))
    rows = [
        labelled(str(step.kind).capitalize(), (step.name, Tone.STRONG), origin_note(session.source, step, "arguments"))
    ]
    rows.extend(_identity(step))
    sections: list[Section] = [fixed("call", rows)]
    if step.arguments is not None:
        sections.append(body_section(session.source, "arguments", "Arguments", step.arguments))
    if step.result is not None:
        sections.append(body_section(session.source, "result", "Result", step.result))
    elif step.status is StepStatus.OPEN:
        unfinished = "no outcome yet" if session.live else "no outcome: the call began, and nothing says how it ended"
        sections.append(note("no-result", unfinished, Tone.WARN))
    return Document(tuple(sections))


def _identity(step: Step) -> list[Row]:
    if (effect := unseen(step)) is not None:
        return _unseen(effect)
    rows = []
    if step.effect is not None:
        rows.append(labelled("Effect", effect_span(step.effect), (f"  {_EFFECT_WORDS[step.effect]}", Tone.DIM)))
    if step.status is StepStatus.OK and step.error is None:
        rows.append(labelled("Status", ("ok", Tone.OK), (f"  {duration_words(step.latency_ms)}", Tone.DIM)))
    else:
        rows.extend(outcome_rows(step))
    if step.fingerprint is not None:
        rows.append(labelled("Fingerprint", (step.fingerprint, Tone.DIM)))
    if step.idempotency_key is not None:
        rows.append(labelled("Idempotency", step.idempotency_key))
    elif marks.is_outward(step):
        rows.append(labelled("Idempotency", ("no key", Tone.WARN)))
    rows.extend(labelled("Hole", ("○ ", Tone.WARN), hole) for hole in step.holes)
    rows.extend(fact_rows(step.attrs))
    return rows


def _unseen(effect: UnseenEffect) -> list[Row]:
    """An effect that no seam saw."""
    rows = [labelled("What", (effect.what, Tone.STRONG)), labelled("Where", effect.place)]
    rows.append(labelled("Under", effect.under or "no step: it is ambient"))
    if effect.contradicts:
        said = f"! the tool declares effect={effect.contradicts}, and did this"
        rows.append(labelled("Declared", (said, Tone.ERROR)))
    if effect.covered:
        rows.append(
            labelled("Replay", ("covered: the recorded call around it is served, so it does not happen again", Tone.OK))
        )
    elif effect.temporary:
        rows.append(labelled("Replay", ("a temporary file: a replay has a directory of its own for these", Tone.DIM)))
    else:
        rows.append(labelled("Replay", (_UNCOVERED, Tone.WARN)))
    rows.extend(fact_rows(effect.step.attrs, skip=_SAID))
    return rows
