"""State: the checkpoint at this step, or the last one before it."""

from __future__ import annotations

from functools import partial

from agentdbg.debugging import marks
from agentdbg.debugging.differences import OVER_TIME, diff_block
from agentdbg.debugging.document import Block, Document, Row, Section, Stop, Tone, computed, fixed, note
from agentdbg.debugging.session import Session
from agentdbg.debugging.statefields import checkpoint_before
from agentdbg.debugging.tabs.common import body_section, heading, labelled, short
from agentdbg.model.records import BodyRef, Step


def state_tab(session: Session) -> Document:
    """The document of the State tab."""
    checkpoint = checkpoint_before(session, session.cursor)
    if checkpoint is None:
        return Document((note("empty", "no checkpoint at or before this step"),))
    here = checkpoint.n - 1 == session.cursor
    before = checkpoint_before(session, checkpoint.n - 2)
    sections: list[Section] = [fixed("checkpoint", _facts(checkpoint, before, here=here))]
    sections.extend(_change(session, before, checkpoint))
    if checkpoint.arguments is None:
        sections.append(note("empty", "the checkpoint was recorded without its state"))
    else:
        sections.append(body_section(session.source, "state", "State", checkpoint.arguments))
    return Document(tuple(sections))


def _change(session: Session, before: Step | None, step: Step) -> list[Section]:
    """What this checkpoint changed."""
    if before is None or before.arguments is None or step.arguments is None:
        return []
    if before.arguments.sha256 == step.arguments.sha256:
        return []
    title = heading("Change", (f"  since step {before.n} {before.name}", Tone.DIM))
    how = partial(_compare, session, before.arguments, step.arguments)
    return [computed(f"change.{session.diffs.view}", title, how)]


def _compare(session: Session, before: BodyRef, after: BodyRef, stop: Stop) -> Block:
    return diff_block(session.source, before, session.source, after, session.diffs.view, stop, OVER_TIME)


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
