"""Help and palette in one: the action table, filtered as you type; enter runs the entry."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from agentdbg.debugging.actions import Action, Place, actions_of
from agentdbg.debugging.document import Span, Tone, span
from agentdbg.ui.keymap import Keymap
from agentdbg.ui.screens.dialog import Dialog
from agentdbg.ui.text import Palette, content, segments
from agentdbg.ui.widgets.bars import Bar
from agentdbg.ui.widgets.lines import LineView

_CONVENTION = "lowercase forward, uppercase backward; a, B, F, G, Y on their own"


class ActionList(LineView):
    """The actions that match a filter, under their groups."""

    def __init__(self, actions: tuple[Action, ...], keymap: Keymap) -> None:
        """List actions with their keys."""
        super().__init__(id="actions")
        self._all = actions
        self._keymap = keymap
        self._rows: list[str | Action] = []
        self.filter("")

    def filter(self, text: str) -> None:
        """Keep the actions whose keys, words or id hold all words of ``text``."""
        words = text.casefold().split()
        self._rows = []
        group = ""
        for action in self._all:
            keys = self._keymap.shown(action)
            hay = f"{keys} {action.help} {action.group} {action.id}".casefold()
            if not all(word in hay for word in words):
                continue
            if action.group != group:
                group = action.group
                self._rows.append(group)
            self._rows.append(action)
        if self.is_attached:
            self.update_lines()
            self.scroll_to(y=0, animate=False, immediate=True)
        self.cursor = 1 if len(self._rows) > 1 else 0

    @property
    def selected(self) -> Action | None:
        """The action under the cursor."""
        row = self._rows[self.cursor] if self.cursor < len(self._rows) else None
        return row if isinstance(row, Action) else None

    def move(self, delta: int) -> None:
        """Move to the next action, over headings."""
        target = self.cursor + delta
        if 0 <= target < len(self._rows) and isinstance(self._rows[target], str):
            target += delta
        if 0 <= target < len(self._rows):
            self.move_cursor(target)
        elif delta < 0:
            self.scroll_to(y=0, animate=False, immediate=True)

    def line_count(self) -> int:
        """Actions and headings."""
        return len(self._rows)

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One action or heading."""
        row = self._rows[index]
        if isinstance(row, str):
            return segments([span(f" {row}", Tone.HEADING)], palette)
        here = index == self.cursor
        spans: list[Span] = [
            span("› " if here else "  ", Tone.ACCENT),
            span(f"{self._keymap.shown(row):<16}", Tone.STRONG),
            span(row.help),
        ]
        return segments(spans, palette)


class HelpScreen(Dialog[str | None]):
    """Shows what can be done, and does it."""

    CSS: ClassVar[str] = """
    HelpScreen { align: center middle; background: $background 60%; }
    HelpScreen #help { width: 90%; max-width: 84; height: 90%; max-height: 40; background: $surface; padding: 0 1; }
    HelpScreen LineView { background: $surface; height: 1fr; }
    HelpScreen Input { height: 1; border: none; padding: 0 1; background: $panel; margin: 0 0 1 0; }
    HelpScreen Input:focus { border: none; }
    """
    AUTO_FOCUS = "Input"

    def __init__(self, title: str, place: Place, keymap: Keymap) -> None:
        """Show the actions of a place."""
        super().__init__()
        self._title = title
        self._actions = actions_of(place)
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        """Title, filter, list, convention."""
        with Vertical(id="help"):
            yield Bar(id="help-title")
            yield Input(placeholder=content("type to filter").plain, id="help-filter")
            yield ActionList(self._actions, self._keymap)
            yield Bar(id="help-note")

    def ready(self) -> None:
        """Fill the bars."""
        hint = [
            span("enter", Tone.STRONG),
            span(" runs  ", Tone.DIM),
            span("esc", Tone.STRONG),
            span(" closes", Tone.DIM),
        ]
        self.query_one("#help-title", Bar).show([span(self._title, Tone.HEADING)], hint)
        self.query_one("#help-note", Bar).show([span(_CONVENTION, Tone.DIM)])

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter."""
        self.query_one(ActionList).filter(event.value)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Run the entry."""
        self._run()

    def on_line_view_chosen(self, _event: LineView.Chosen) -> None:
        """Run the entry that was clicked twice."""
        self._run()

    def handle(self, key: str, character: str | None) -> bool:
        """Move in the list while the focus stays in the filter."""
        actions = self.query_one(ActionList)
        if key == "escape":
            self.close_with(None)
        elif key in ("down", "up"):
            actions.move(1 if key == "down" else -1)
        elif key in ("pagedown", "pageup"):
            actions.move_page(1 if key == "pagedown" else -1)
        else:
            return False
        return True

    def _run(self) -> None:
        selected = self.query_one(ActionList).selected
        if selected is not None:
            self.close_with(selected.id)
