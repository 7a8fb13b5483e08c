"""The list of steps: mark, number, kind, hash, effect, time, name."""

from __future__ import annotations

from rich.segment import Segment

from agentdbg.compare.unseen import unseen
from agentdbg.debugging.compared import ComparedRun
from agentdbg.debugging.document import Span, Tone, duration_words, span
from agentdbg.debugging.marks import Mark, sign_tone
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.common import effect_span, short
from agentdbg.model.records import Kind, Step, StepStatus
from agentdbg.ui.text import Palette, segments
from agentdbg.ui.widgets.lines import LineView

KIND_TONES = {
    Kind.MODEL: Tone.MODEL,
    Kind.TOOL: Tone.TOOL,
    Kind.HTTP: Tone.TOOL,
    Kind.READ: Tone.TOOL,
    Kind.EFFECT: Tone.TOOL,
    Kind.CHECKPOINT: Tone.CHECKPOINT,
    Kind.APPROVAL: Tone.ACCENT,
}
_MAX_DEPTH = 12
MARK_WIDTH = 11
AGAINST_WIDTH = 13


class StepList(LineView):
    """The steps of a run; the cursor is the session's."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002
        """Show a session's steps."""
        super().__init__(id=id)
        self.session = session

    def line_count(self) -> int:
        """How many steps there are."""
        return self.session.rows

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One step."""
        here = index == self.cursor
        index = self.session.index_at(index)
        step = self.session.step_at(index)
        if step is None:
            return []
        against = against_spans(self.session.diffs.compared, index)
        spans = step_row(step, self.session.marks_of(step), here=here, against=against)
        return segments(spans, palette)


def header_row(*, compared: bool = False) -> list[Span]:
    """The words above the columns."""
    against = f"{'against':<{AGAINST_WIDTH}}" if compared else f"{'hash':<9}"
    words = f"  {'mark':<{MARK_WIDTH}}{'step':>6}  {'kind':<11}{against}{'effect':<9}{'time':>6}  name"
    return [span(words, Tone.DIM)]


def against_spans(compared: ComparedRun | None, index: int) -> list[Span] | None:
    """How a step compares: sign and word; ``+2`` where two steps of the other run alone follow."""
    if compared is None:
        return None
    place = compared.place_of(index)
    if place is None:
        return [span(" " * AGAINST_WIDTH)]
    sign, word = compared.pairs[place].sign, compared.word(place)
    text = f"{sign} {word}"[: AGAINST_WIDTH - 1]
    tone = sign_tone(sign) if compared.is_telling(place) else Tone.DIM
    more = f" +{compared.following(index)}" if compared.following(index) else ""
    gap = AGAINST_WIDTH - len(text) - len(more)
    return [span(text, tone), span(more, Tone.OK), span(" " * max(gap, 0))]


def step_row(step: Step, marks: list[Mark], *, here: bool, against: list[Span] | None = None) -> list[Span]:
    """The columns of a step; the hash gives way to how the step compares."""
    identity = step.input_hash or step.fingerprint
    effect = effect_span(step.effect) if step.effect is not None else span("")
    loud = Tone.ERROR if marks and marks[0].tone is Tone.ERROR else Tone.STRONG if here else Tone.PLAIN
    identified = against or [span(f"{short(identity) if identity else '':<9}", Tone.DIM)]
    return [
        span("› " if here else "  ", Tone.ACCENT),
        *_marks(marks),
        span(f"{step.n:>6}  ", Tone.DIM),
        span(f"{step.kind:<11}", KIND_TONES.get(step.kind, Tone.STRUCTURE)),
        *identified,
        effect,
        span(" " * (9 - len(effect.text))),
        span(f"{_took(step):>6}  ", Tone.DIM),
        span("  " * min(step.depth, _MAX_DEPTH)),
        span(step.name, loud),
        *_place(step),
    ]


def _place(step: Step) -> list[Span]:
    """Where in the program an effect came from that no seam saw."""
    effect = unseen(step)
    return [] if effect is None else [span(f"  {effect.place}", Tone.DIM)]


def _took(step: Step) -> str:
    """How long it took; notes take no time."""
    return "" if step.latency_ms is None and step.status is not StepStatus.OPEN else duration_words(step.latency_ms)


def _marks(marks: list[Mark]) -> list[Span]:
    if not marks:
        return [span(" " * MARK_WIDTH)]
    first = f"{marks[0].sign} {marks[0].word}"
    spans = [span(first, marks[0].tone)]
    used = len(first)
    for mark in marks[1:]:
        if used + 2 < MARK_WIDTH:
            spans.append(span(f" {mark.sign}", mark.tone))
            used += 2
    return [*spans, span(" " * (MARK_WIDTH - used))]
