"""An empty Textual app that imports what the debugger's screens import of Textual; run as a program."""

from __future__ import annotations

from importlib import import_module

from textual.app import App, ComposeResult
from textual.widgets import Input, Label

TEXT = "an empty app"
ALSO = "binding color containers content message reactive screen scroll_view strip theme widget worker"
LOADED = [Input, *(import_module(f"textual.{name}") for name in ALSO.split())]


class EmptyApp(App[None]):
    """One line of text."""

    def compose(self) -> ComposeResult:
        """Show the line."""
        yield Label(TEXT)


if __name__ == "__main__":
    EmptyApp().run()
