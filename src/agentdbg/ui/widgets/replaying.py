"""Widgets of the replay screens: the choices ahead of a replay, and its steps beside the recorded ones."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment

from agentdbg.debugging.document import Span, Tone, span
from agentdbg.debugging.live_replay import LiveReplay
from agentdbg.debugging.marks import INSTEAD
from agentdbg.debugging.replay_dialog import ReplayDialog
from agentdbg.debugging.replay_pairs import Pair
from agentdbg.debugging.texts import cut_to, padded
from agentdbg.i18n.phrases import phrase
from agentdbg.model import outward
from agentdbg.model.records import StepStatus
from agentdbg.ui.text import Palette, segments
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.pairs import SIGN_WIDTH, fit, half_width, side_spans

_LABEL: Final = 11
_VALUE: Final = 12


class ChoiceList(LineView):
    """The choices; the cursor is the dialog's."""

    def __init__(self, dialog: ReplayDialog, *, id: str | None = None) -> None:  # noqa: A002
        """Show a dialog's choices."""
        super().__init__(id=id)
        self._dialog = dialog

    def line_count(self) -> int:
        """How many choices there are."""
        return len(self._dialog.choices)

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One choice, with what it means."""
        choice = self._dialog.choices[index]
        here = index == self.cursor
        free = len(choice.values) > 1
        arrows = ("‹ ", " ›") if free else ("  ", "  ")
        value = f"{arrows[0]}{choice.value}{arrows[1]}"
        room = max(self.size.width - _LABEL - _VALUE - 7, 1)
        return segments(
            [
                span("› " if here else "  ", Tone.ACCENT),
                span(padded(choice.label, _LABEL), Tone.LABEL),
                span(padded(value, _VALUE + 4), Tone.STRONG if free else Tone.PLAIN),
                span(f" {cut_to(choice.help, room)}", Tone.DIM),
            ],
            palette,
        )


class LivePairs(LineView):
    """Recorded steps and the replay's, growing beside them."""

    def __init__(self, live: LiveReplay, *, id: str | None = None) -> None:  # noqa: A002
        """Show a replay's steps."""
        super().__init__(id=id)
        self._live = live

    def line_count(self) -> int:
        """How many rows there are."""
        return len(self._live.pairs)

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One row."""
        live, half = self._live, half_width(self.size.width)
        if index >= len(live.pairs):
            return []
        pair = live.pairs[index]
        mark = mark_of(live, pair)
        recorded, replayed = live.recorded_step(pair), live.replayed_step(pair)
        return segments(
            [
                span("› " if index == self.cursor else "  ", Tone.ACCENT),
                span(_sign(mark.text), mark.tone),
                *side_spans(recorded, half, telling=replayed is not None),
                span(" │ ", Tone.DIM),
                *side_spans(replayed, half, telling=True),
            ],
            palette,
        )


def _sign(text: str) -> str:
    """A sign and its word, as wide as their column."""
    sign, _, word = text.partition(" ")
    return fit(f"{sign} {phrase(word)}" if word else sign, SIGN_WIDTH - 1) + " "


def mark_of(live: LiveReplay, pair: Pair) -> Span:
    """What became of a step, as a sign and a word."""
    step = live.replayed_step(pair)
    if live.is_held(pair):
        return span("‖ paused", Tone.WARN)
    if step is None and pair.recorded in live.within:
        return span("· inside", Tone.DIM)
    if step is None:
        return span("- not made" if live.ended is not None else "", Tone.DIM)
    outcome = live.outcome
    at = outcome.first_divergence if outcome is not None else None
    if at is not None and pair.recorded is not None and at.step == pair.recorded + 1:
        return span("≠ diverged", Tone.ERROR)
    if outward.is_refused(step):
        return span("⊘ refused", Tone.WARN)
    if (instead := INSTEAD.get(outward.how_far(step))) is not None:
        return span(f"{instead.sign} {instead.word}", instead.tone)
    if pair.recorded is None:
        return span("+ new", Tone.WARN)
    if step.status is StepStatus.OPEN:
        return span("● open" if live.ended is None else "? no end", Tone.ACCENT)
    if step.attrs.get("edited") is True:
        return span("≈ edited", Tone.WARN)
    if "served_from" in step.attrs:
        return span("= served", Tone.DIM)
    if step.is_call:
        return span("~ live", Tone.ACCENT)
    return span("= done", Tone.DIM)
