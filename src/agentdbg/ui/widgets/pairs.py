"""Two runs' steps beside each other, and the six answers about them."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment

from agentdbg.debugging.compared import ComparedRun
from agentdbg.debugging.document import Span, Tone, duration_words, span
from agentdbg.debugging.marks import sign_tone
from agentdbg.i18n.phrases import phrase
from agentdbg.model.records import Step
from agentdbg.model.safe_text import safe_line
from agentdbg.ui.text import Palette, segments
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.steps import KIND_TONES

SIGN_WIDTH: Final = 13
_ANSWER_TONES = {"yes": Tone.WARN, "no": Tone.DIM, "unknown": Tone.PLAIN}
QUESTIONS = {
    "versions": "versions",
    "retrieved": "retrieved context",
    "arguments": "tool arguments",
    "results": "tool results",
    "final": "answer and state",
    "intended": "where intended",
}


class PairList(LineView):
    """Pairs of steps; the cursor is a place."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Show nothing yet."""
        super().__init__(id=id)
        self.compared: ComparedRun | None = None

    def line_count(self) -> int:
        """How many pairs there are."""
        return len(self.compared.pairs) if self.compared is not None else 1

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One pair."""
        if self.compared is None:
            return segments([span("  comparing …", Tone.DIM)], palette)
        return segments(pair_row(self.compared, index, self.size.width, here=index == self.cursor), palette)


class AnswerList(LineView):
    """The six answers."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Show nothing yet."""
        super().__init__(id=id)
        self.compared: ComparedRun | None = None

    @property
    def place(self) -> int | None:
        """Where the evidence of the answer under the cursor stands."""
        answers = self.compared.answers if self.compared is not None else []
        return answers[self.cursor][1] if self.cursor < len(answers) else None

    def line_count(self) -> int:
        """Six, known or not."""
        return len(QUESTIONS)

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One answer."""
        answers = self.compared.answers if self.compared is not None else []
        if index >= len(answers):
            return segments([span(f" {list(QUESTIONS.values())[index]:<19} …", Tone.DIM)], palette)
        answer = answers[index][0]
        here = index == self.cursor and self.has_focus
        return segments(
            [
                span("›" if here else " ", Tone.ACCENT),
                span(f"{QUESTIONS.get(answer.question, answer.question):<19}", Tone.LABEL),
                span(f"{answer.changed:<8}", _ANSWER_TONES.get(answer.changed, Tone.PLAIN)),
                span(answer.evidence, Tone.PLAIN if answer.changed == "yes" else Tone.DIM),
            ],
            palette,
        )


def head_row(left: str, right: str, width: int, word: str = "differs") -> list[Span]:
    """The two runs' ids above their columns; ``word`` above their signs."""
    half = half_width(width)
    return [
        span(f"  {fit(phrase(word), SIGN_WIDTH)}", Tone.DIM),
        span(f"{fit('- ' + left, half)}", Tone.LABEL),
        span(" │ ", Tone.DIM),
        span(fit("+ " + right, half), Tone.LABEL),
    ]


def pair_row(compared: ComparedRun, place: int, width: int, *, here: bool) -> list[Span]:
    """One pair of steps, or one that stands alone."""
    sign, word = compared.pairs[place].sign, compared.word(place)
    first = compared.parting_place == place
    telling = compared.is_telling(place)
    label = f"{'≠' if first else sign} {word}"[: SIGN_WIDTH - 1]
    tone = Tone.ERROR if first else sign_tone(sign) if telling else Tone.DIM
    left, right = compared.steps_at(place)
    half = half_width(width)
    return [
        span("› " if here else "  ", Tone.ACCENT),
        span(f"{label:<{SIGN_WIDTH}}", tone),
        *side_spans(left, half, telling=telling),
        span(" │ ", Tone.DIM),
        *side_spans(right, half, telling=telling),
    ]


def side_spans(step: Step | None, half: int, *, telling: bool) -> list[Span]:
    """One step in a column of that many cells."""
    if step is None:
        return [span(" " * half)]
    took = duration_words(step.latency_ms) if step.latency_ms is not None and half > 44 else ""
    room = half - 5 - 11 - (7 if took else 0)
    name = "  " * min(step.depth, 4 if half > 44 else 1) + step.name
    return [
        span(f"{step.n:>4} ", Tone.DIM),
        span(f"{step.kind:<11}", KIND_TONES.get(step.kind, Tone.STRUCTURE)),
        span(fit(name, max(room, 1)), Tone.PLAIN if telling else Tone.DIM),
        span(f"{took:>7}" if took else "", Tone.DIM),
    ]


def half_width(width: int) -> int:
    """Cells of each column of a list of pairs."""
    return max((width - 2 - SIGN_WIDTH - 3 - 1) // 2, 20)


def fit(text: str, width: int) -> str:
    """A text in exactly so many cells."""
    text = safe_line(text)
    return f"{set_cell_size(text, width - 1)}…" if cell_len(text) > width else set_cell_size(text, width)
