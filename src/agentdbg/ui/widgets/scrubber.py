"""The whole run on one line; a click jumps."""

from __future__ import annotations

from textual import events
from textual.message import Message

from agentdbg.debugging.document import span
from agentdbg.debugging.overview import Landmark, Overview
from agentdbg.debugging.scrubbing import cell_of, position_of, track, track_spans
from agentdbg.debugging.session import Session
from agentdbg.ui.widgets.bars import Bar

_MARGIN = 1


class Scrubber(Bar):
    """Errors, effects, approvals and the divergence of a run, at their places."""

    class Picked(Message):
        """The user clicked a place."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002
        """Show a session's run."""
        super().__init__(id=id)
        self._session = session
        self._track: list[Landmark | None] = []
        self._drawn_for: tuple[Overview | None, int, int] | None = None

    def update_track(self) -> None:
        """Draw the line again where it has changed."""
        session, width = self._session, self.size.width - 2 * _MARGIN
        basis = (session.overview, session.count, width)
        if self._drawn_for is None or basis != self._drawn_for:
            self._drawn_for = basis
            self._track = track(*basis)
        here = cell_of(session.cursor, session.count, width) if session.count and width > 0 else None
        self.show([span(" " * _MARGIN), *track_spans(self._track, here)])

    def on_resize(self) -> None:
        """As long as the pane is wide."""
        self.update_track()

    def on_click(self, event: events.Click) -> None:
        """Jump to the place under the mouse."""
        if self._session.count:
            cell = max(event.x - _MARGIN, 0)
            self.post_message(self.Picked(position_of(cell, self._session.count, self.size.width - 2 * _MARGIN)))
