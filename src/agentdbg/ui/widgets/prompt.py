"""The line at the bottom in which the user types: a search, a filter, a reason."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label

from agentdbg.model.safe_text import safe_line
from agentdbg.ui.text import content


class Prompt(Horizontal):
    """A label and an input, shown while something is asked."""

    DEFAULT_CSS: ClassVar[str] = """
    Prompt { height: 1; display: none; background: $surface; }
    Prompt.-open { display: block; }
    Prompt Label { width: auto; padding: 0 1; color: $accent; text-style: bold; }
    Prompt Input { width: 1fr; height: 1; border: none; padding: 0; background: $surface; }
    Prompt Input:focus { border: none; background: $surface; }
    """

    class Typed(Message):
        """The text has changed."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    class Toggled(Message):
        """The prompt was opened, or closed."""

    class Entered(Typed):
        """The user pressed enter."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Make a hidden prompt."""
        super().__init__(id=id)
        self.purpose = ""

    def compose(self) -> ComposeResult:
        """Label and input."""
        yield Label(content(""), id="prompt-label", markup=False)
        yield Input(id="prompt-input", compact=True, select_on_focus=False)

    @property
    def is_open(self) -> bool:
        """Whether something is being asked."""
        return self.has_class("-open")

    def ask(self, purpose: str, label: str, text: str = "") -> None:
        """Open the prompt.

        Args:
            purpose: Name by which the answer is told apart.
            label: What is asked, in a word.
            text: What stands in the input at first.
        """
        self.purpose = purpose
        self.query_one(Label).update(content(label))
        field = self.query_one(Input)
        with field.prevent(Input.Changed):
            field.value = safe_line(text)
        field.cursor_position = len(field.value)
        self.add_class("-open")
        field.focus()
        self.post_message(self.Toggled())

    def close(self) -> None:
        """Hide the prompt."""
        if self.is_open:
            self.remove_class("-open")
            self.post_message(self.Toggled())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what has been typed so far."""
        event.stop()
        if self.is_open:
            self.post_message(self.Typed(self.purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tell what has been entered."""
        event.stop()
        self.post_message(self.Entered(self.purpose, event.value))
