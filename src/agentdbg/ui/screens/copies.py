"""The copy menu: a small list; the copy key again takes the first entry."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical

from agentdbg.debugging.copies import Copy
from agentdbg.debugging.document import Tone, span
from agentdbg.ui.screens.dialog import Dialog
from agentdbg.ui.text import Palette, segments
from agentdbg.ui.widgets.bars import Bar
from agentdbg.ui.widgets.lines import LineView


class CopyList(LineView):
    """What can be copied."""

    def __init__(self, entries: list[Copy]) -> None:
        """List entries."""
        super().__init__(id="copies")
        self._entries = entries

    def line_count(self) -> int:
        """How many there are."""
        return len(self._entries)

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One entry."""
        here = index == self.cursor
        row = [span("› " if here else "  ", Tone.ACCENT), span(f"{index + 1}  ", Tone.STRONG)]
        return segments([*row, span(self._entries[index].what)], palette)


class CopyScreen(Dialog[int | None]):
    """Asks what to copy; gives the number of the entry."""

    CSS: ClassVar[str] = """
    CopyScreen { align: center middle; background: $background 60%; }
    CopyScreen #copy { width: 52; max-width: 90%; height: auto; background: $surface; padding: 0 1; }
    CopyScreen LineView { background: $surface; height: auto; max-height: 12; scrollbar-size-vertical: 0; }
    """

    def __init__(self, entries: list[Copy], again: tuple[str, ...]) -> None:
        """Offer entries.

        Args:
            entries: The entries.
            again: Keys that take the first one.
        """
        super().__init__()
        self._entries = entries
        self._again = again

    def compose(self) -> ComposeResult:
        """Title and list."""
        with Vertical(id="copy"):
            yield Bar(id="copy-title")
            yield CopyList(self._entries)

    def ready(self) -> None:
        """Show what enter does."""
        hint = [
            span("enter", Tone.STRONG),
            span(" copies  ", Tone.DIM),
            span("esc", Tone.STRONG),
            span(" closes", Tone.DIM),
        ]
        self.query_one("#copy-title", Bar).show([span("Copy", Tone.HEADING)], hint)
        copies = self.query_one(CopyList)
        copies.styles.height = len(self._entries)
        copies.focus()

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        """Take the entry that was clicked twice."""
        self.close_with(event.index)

    def handle(self, key: str, character: str | None) -> bool:
        """Choose with arrows and enter, or by number."""
        entries = self.query_one(CopyList)
        if key in ("escape", "q"):
            self.close_with(None)
        elif key in ("down", "j", "up", "k"):
            entries.move_cursor(entries.cursor + (1 if key in ("down", "j") else -1))
        elif key == "enter":
            self.close_with(entries.cursor)
        elif key in self._again:
            self.close_with(0)
        elif character is not None and character.isdecimal() and 0 < int(character) <= len(self._entries):
            self.close_with(int(character) - 1)
        else:
            return False
        return True
