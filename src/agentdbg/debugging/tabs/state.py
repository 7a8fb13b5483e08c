"""State: the checkpoint at this step, or the last one before it."""

from __future__ import annotations

from agentdbg.debugging import marks
from agentdbg.debugging.document import Document, Row, Section, Tone, fixed, note
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import body_section, labelled, short
from agentdbg.model.records import Kind, Step

_LOOK_BACK = 2_000


def state_tab(session: Session) -> Document:
    """The document of the State tab."""
    checkpoint = _checkpoint(session, session.cursor)
    if checkpoint is None:
        return Document((note("empty", "no checkpoint at or before this step"),))
    here = checkpoint.n - 1 == session.cursor
    before = _checkpoint(session, checkpoint.n - 2)
    sections: list[Section] = [fixed("checkpoint", _facts(checkpoint, before, here=here))]
    if checkpoint.arguments is None:
        sections.append(note("empty", "the checkpoint was recorded without its state"))
    else:
        sections.append(body_section(session.source, "state", "State", checkpoint.arguments))
    return Document(tuple(sections))


def _checkpoint(session: Session, index: int) -> Step | None:
    for at in range(index, max(index - _LOOK_BACK, -1), -1):
        step = session.steps[at]
        if step.kind is Kind.CHECKPOINT:
            return step
    return None


def _facts(step: Step, before: Step | None, *, here: bool) -> list[Row]:
    where = "this step" if here else f"step {step.n}, the last checkpoint before this step"
    rows = [labelled("Checkpoint", (step.name, Tone.STRONG), f"  {where}")]
    if before is not None and step.arguments is not None and before.arguments is not None:
        same = step.arguments.sha256 == before.arguments.sha256
        hashes = f"{short(before.arguments.sha256)} → {short(step.arguments.sha256)}"
        sign = ("= same as", Tone.DIM) if same else ("≠ changed since", Tone.WARN)
        rows.append(labelled("Change", sign, f" step {before.n} {before.name}  ", (hashes, Tone.DIM)))
    reasons = marks.unsafe_reasons(step)
    resume = step.attrs.get("can_resume")
    if reasons is not None:
        rows.append(labelled("Can resume", ("! no", Tone.WARN), "  " + "; ".join(reasons)))
    elif resume is True or resume == "yes":
        rows.append(labelled("Can resume", ("yes", Tone.OK)))
    else:
        rows.append(labelled("Can resume", ("undeclared", Tone.DIM)))
    return rows
