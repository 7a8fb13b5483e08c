"""The answers to a model call, one line each."""

from __future__ import annotations

from rich.segment import Segment

from agentdbg.debugging.asking import Asking
from agentdbg.debugging.asking_pages import sample_row
from agentdbg.debugging.document import Tone, row, span
from agentdbg.replay.ask import Sample
from agentdbg.ui.text import Palette, segments
from agentdbg.ui.widgets.lines import LineView


class AnswerRows(LineView):
    """The recorded answer and the samples."""

    def __init__(self, asking: Asking, *, id: str | None = None) -> None:  # noqa: A002
        """List the answers of a call."""
        super().__init__(id=id)
        self._asking = asking

    @property
    def selected(self) -> Sample | None:
        """The answer under the cursor."""
        rows = self._asking.rows
        return rows[self.cursor] if self.cursor < len(rows) else None

    def line_count(self) -> int:
        """How many answers there are."""
        return len(self._asking.rows)

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One answer."""
        asking = self._asking
        found = sample_row(asking, asking.rows[index], asking.letters())
        return segments(row(span("  › " if index == self.cursor else "    ", Tone.ACCENT), *found), palette)
