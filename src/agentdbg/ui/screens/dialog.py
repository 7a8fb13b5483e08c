"""A small screen over another one. Keys that arrive before it is drawn wait; ``ctrl+q`` quits from here too."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual import events
from textual.screen import ModalScreen

T = TypeVar("T")
QUIT = "ctrl+q"


class Dialog(ModalScreen[T], Generic[T]):
    """Base of help and menus."""

    def __init__(self) -> None:
        """Make the dialog."""
        super().__init__()
        self._is_ready = False
        self._early: list[tuple[str, str | None]] = []

    def on_mount(self) -> None:
        """Fill the dialog, then take the keys that were pressed meanwhile."""
        if not self.children:
            return  # closed before it was there
        self.ready()
        self._is_ready = True
        early, self._early = self._early, []
        for key, character in early:
            self.handle(key, character)

    def on_key(self, event: events.Key) -> None:
        """Quit, keep an early key, or hand it to the dialog."""
        if event.key == QUIT:
            self.app.exit()
        elif not self._is_ready:
            self._early.append((event.key, event.character))
        elif not self.handle(event.key, event.character):
            return
        event.stop()
        event.prevent_default()

    def close_with(self, result: T) -> None:
        """Close, once: a second quick key finds the dialog gone."""
        if self.is_current:
            self.dismiss(result)

    def ready(self) -> None:
        """The widgets are there."""

    def handle(self, key: str, character: str | None) -> bool:
        """Take a key; ``False`` leaves it to the widgets."""
        return False
