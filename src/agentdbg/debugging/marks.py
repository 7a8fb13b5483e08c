"""What deserves attention about a step: always a sign and a word, so that it can be read without colour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentdbg.compare.unseen import unseen
from agentdbg.debugging.document import Tone
from agentdbg.model import outward
from agentdbg.model.records import Effect, Json, Kind, RunStatus, RunSummary, Step, StepStatus

OUTWARD: Final = (Effect.WRITE, Effect.EXTERNAL)
_FAILED: Final = (StepStatus.ERROR, StepStatus.TIMED_OUT)
_SIGN_TONES: Final = {"=": Tone.DIM, "~": Tone.WARN, "+": Tone.OK, "-": Tone.ERROR}
_STATUS_TONES: Final = {RunStatus.OK: Tone.OK, RunStatus.RUNNING: Tone.ACCENT, RunStatus.WAITING: Tone.ACCENT}
STATUS_SIGNS: Final = {
    RunStatus.OK: "✓",
    RunStatus.RUNNING: "●",
    RunStatus.WAITING: "◆",
    RunStatus.FAILED: "✗",
    RunStatus.LOST: "?",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign, its word, and the tone that may underline it."""

    sign: str
    word: str
    tone: Tone


DIVERGED: Final = Mark("≠", "diverged", Tone.ERROR)
ERROR: Final = Mark("✗", "error", Tone.ERROR)
TIMED_OUT: Final = Mark("✗", "timeout", Tone.ERROR)
REFUSED: Final = Mark("⊘", "refused", Tone.WARN)
IN_DOUBT: Final = Mark("?", "in doubt", Tone.WARN)
DRY_RUN: Final = Mark("≈", "dry run", Tone.WARN)
PUT_IN: Final = Mark("≈", "put in", Tone.WARN)
LOOKED_UP: Final = Mark("≈", "looked up", Tone.WARN)
INSTEAD: Final = {outward.DRY_RUN: DRY_RUN, outward.PUT_IN: PUT_IN, outward.LOOKED_UP: LOOKED_UP}
"""What stood in the place of a call that a replay did not make."""
OPEN: Final = Mark("◌", "open", Tone.WARN)
RUNNING: Final = Mark("▸", "running", Tone.ACCENT)
CANCELLED: Final = Mark("−", "cancelled", Tone.WARN)
PARTIAL: Final = Mark("◐", "partial", Tone.WARN)
APPROVAL: Final = Mark("◆", "approval", Tone.ACCENT)
UNSAFE: Final = Mark("!", "unsafe", Tone.WARN)
UNCOVERED: Final = Mark("»", "uncovered", Tone.WARN)
MISSTATED: Final = Mark("!", "misstated", Tone.ERROR)
HOLE: Final = Mark("○", "hole", Tone.WARN)
BOOKMARK: Final = Mark("■", "bookmark", Tone.ACCENT)
BREAKPOINT: Final = Mark("●", "break", Tone.ACCENT)
NOTE: Final = Mark("✎", "note", Tone.ACCENT)


def marks(
    step: Step,
    *,
    live: bool,
    bookmarked: bool = False,
    halting: bool = False,
    noted: bool = False,
    diverged: bool = False,
) -> list[Mark]:
    """All marks of a step, the most telling first.

    Args:
        step: The step.
        live: Whether the run is still running: an open intent is then work in progress.
        bookmarked: Whether the user marked it.
        halting: Whether a breakpoint stands on it.
        noted: Whether somebody wrote a note on it.
        diverged: Whether the run's first divergence is here.
    """
    found: list[Mark] = []
    if diverged or is_divergent(step):
        found.append(DIVERGED)
    if is_refused(step):
        found.append(REFUSED)
    elif is_error(step):
        found.append(TIMED_OUT if step.status is StepStatus.TIMED_OUT else ERROR)
    if step.status is StepStatus.OPEN:
        found.append(RUNNING if live else IN_DOUBT if step.effect in OUTWARD else OPEN)
    elif step.status is StepStatus.CANCELLED:
        found.append(CANCELLED)
    elif (instead := INSTEAD.get(outward.how_far(step))) is not None:
        found.append(instead)
    elif step.status is StepStatus.PARTIAL:
        found.append(PARTIAL)
    if step.kind is Kind.APPROVAL:
        found.append(APPROVAL)
    if unsafe_reasons(step) is not None:
        found.append(UNSAFE)
    if step.kind is Kind.EFFECT:
        found.extend(_coverage(step))
    if step.holes:
        found.append(HOLE)
    if bookmarked:
        found.append(BOOKMARK)
    if halting:
        found.append(BREAKPOINT)
    if noted:
        found.append(NOTE)
    return found


def _coverage(step: Step) -> list[Mark]:
    """Marks of an effect that no seam saw: beyond what its tool declared, or in no call that a replay serves."""
    effect = unseen(step)
    if effect is None:
        return []
    return [MISSTATED] if effect.contradicts else [UNCOVERED] if effect.uncovered else []


def is_error(step: Step) -> bool:
    """Whether the step ended badly."""
    return step.status in _FAILED or (step.error is not None and step.status is not StepStatus.CANCELLED)


def is_refused(step: Step) -> bool:
    """Whether a guard or policy kept the call from running."""
    return outward.is_refused(step)


def is_outward(step: Step) -> bool:
    """Whether the step changes something outside, or may have."""
    return step.effect in OUTWARD


def is_divergent(step: Step) -> bool:
    """Whether the record itself says that a replay parted from its source here."""
    return bool(step.attrs.get("diverged") or step.attrs.get("divergence"))


def unsafe_reasons(step: Step) -> tuple[str, ...] | None:
    """Why a run must not be resumed from this step; ``None`` where that was not declared."""
    reasons = step.attrs.get("unsafe_reasons")
    listed = tuple(str(reason) for reason in reasons) if isinstance(reasons, list) else ()
    can_resume = step.attrs.get("can_resume")
    if can_resume is False or can_resume == "no" or listed:
        return listed
    return None


def first_divergence_id(summary: RunSummary) -> str | None:
    """Id of the step where a replay first parted from its source."""
    found: Json = summary.meta.get("first_divergence")
    if isinstance(found, Mapping):
        found = found.get("id")
    return found if isinstance(found, str) else None


def is_live(summary: RunSummary) -> bool:
    """Whether new steps may still come: a run that waits for a person has often ended its process."""
    waiting = summary.status is RunStatus.WAITING and summary.ended_at is None
    return summary.status is RunStatus.RUNNING or waiting


def status_tone(status: RunStatus) -> Tone:
    """The tone of a run's status."""
    return _STATUS_TONES.get(status, Tone.ERROR)


def sign_tone(sign: str) -> Tone:
    """The tone of a sign: equal, changed, added, removed."""
    return _SIGN_TONES.get(sign, Tone.WARN)
