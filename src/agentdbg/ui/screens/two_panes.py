"""A list above or beside a detail: focus, zoom, and actions that somebody else than the screen carries out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

from textual.app import ComposeResult
from textual.containers import Container, Vertical

from agentdbg.debugging.actions import Action, Owner
from agentdbg.ui.screens.base import ActionScreen
from agentdbg.ui.widgets.bars import Bar, KeyBar
from agentdbg.ui.widgets.body import BodyView
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt


class TwoPanes(ActionScreen):
    """A list and a detail. `compose` lays out the plain form: status, column heads, list, detail, prompt, keys."""

    def __init__(self, rows: LineView, owner: object = None) -> None:
        """Show a list and a detail.

        Args:
            rows: The list.
            owner: Who carries out the actions that are not the screen's own; `done` shows what comes of them.
        """
        self._owner = owner
        super().__init__()
        self._list = rows
        self._body = BodyView(id="body")

    def compose(self) -> ComposeResult:
        """Status, list, detail, prompt, keys."""
        yield Bar(id="status")
        with Container(id="panes"):
            with Vertical(id="steps-pane"):
                yield Bar(id="columns")
                yield self._list
            with Vertical(id="detail-pane"):
                yield self._body
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    @property
    def lines(self) -> LineView:
        """The focused pane."""
        return self._body if self._body.has_focus else self._list

    def _method_of(self, action: Action) -> Callable[[], object]:
        if action.owner is Owner.SCREEN:
            return super()._method_of(action)
        return partial(self.do, cast("Callable[[], object]", getattr(self._owner, action.method)))

    def do(self, method: Callable[[], object]) -> None:
        """Carry out one of the owner's actions and show what comes of it."""
        raise NotImplementedError

    # Actions

    def switch_focus(self) -> None:
        """To the other pane; a zoom goes along."""
        target = self._list if self._body.has_focus else self._body
        if self.has_class("-zoomed"):
            self._zoom_on(target)
        target.focus()

    def toggle_zoom(self) -> None:
        """Give the focused pane the whole screen, or share it again."""
        self._zoom_on(None if self.has_class("-zoomed") else self.lines)

    def _zoom_on(self, pane: LineView | None) -> None:
        self.set_class(pane is not None, "-zoomed")
        self.query_one("#steps-pane").display = pane is not self._body
        self.query_one("#detail-pane").display = pane is not self._list
