"""Steps above or beside, detail below: focus, zoom, tabs, and what is copied from where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import on, work
from textual.worker import get_current_worker

from agentdbg.debugging.document import Section, Tone, load
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs import tab_for
from agentdbg.store.protocols import BodyMissing
from agentdbg.ui.keymap import textual_key
from agentdbg.ui.messages import BlocksLoaded
from agentdbg.ui.screens.two_panes import TwoPanes
from agentdbg.ui.widgets.bars import TabBar
from agentdbg.ui.widgets.body import BodyView
from agentdbg.ui.widgets.lines import LineView

if TYPE_CHECKING:
    from agentdbg.debugging.copies import Copy

WIDE: Final = 100
"""Cells of the detail from which two columns fit."""


class PanesScreen(TwoPanes):
    """A screen of a list and a detail."""

    def __init__(self, session: Session, steps: LineView) -> None:
        """Show a session in two panes.

        Args:
            session: The session.
            steps: The list.
        """
        self.session = session
        super().__init__(steps)
        self._tab: str | None = None
        self._warned: bytes | None = None

    def present(self, *, keep_place: bool = False) -> None:
        """Show where the session is."""
        raise NotImplementedError

    # Tabs

    @property
    def tab_id(self) -> str:
        """The tab that is shown: the user's choice, else the one that tells most about the step."""
        return self._tab or tab_for(self.session)

    def show_tab(self, tab_id: str) -> None:
        """Show a tab and stay with it; the same tab again goes back to what tells most about each step."""
        self._tab = None if self._tab == tab_id else tab_id
        self.present()

    @on(TabBar.Picked)
    def _pick_tab(self, event: TabBar.Picked) -> None:
        self.show_tab(event.tab_id)

    def show_summary(self) -> None:
        """Summary."""
        self.show_tab("summary")

    def show_input(self) -> None:
        """Input."""
        self.show_tab("input")

    def show_output(self) -> None:
        """Output."""
        self.show_tab("output")

    def show_state(self) -> None:
        """State."""
        self.show_tab("state")

    def show_tool(self) -> None:
        """Tool."""
        self.show_tab("tool")

    def show_diff(self) -> None:
        """Diff."""
        self.show_tab("diff")

    def show_versions(self) -> None:
        """Versions."""
        self.show_tab("versions")

    def show_raw(self) -> None:
        """Raw."""
        self.show_tab("raw")

    def open_close(self) -> None:
        """Open or close the section under the cursor; from the steps, go to the detail."""
        if self._body.has_focus:
            self._body.toggle()
        else:
            self.switch_focus()

    def toggle_wrap(self) -> None:
        """Wrap long lines, or pan them."""
        self._body.toggle_wrap()
        self.say("long lines wrap" if self._body.wrap else "long lines run on: h and l pan")

    # Bodies

    @on(BodyView.Wanted)
    def _read(self, event: BodyView.Wanted) -> None:
        self._read_bodies(event.generation, event.sections)

    @work(thread=True, exclusive=True, group="bodies")
    def _read_bodies(self, generation: int, sections: list[Section]) -> None:
        worker = get_current_worker()

        def is_stale() -> bool:
            return worker.is_cancelled or generation != self._body.generation

        for section in sections:
            block = load(section, is_stale)
            if is_stale():
                return
            self.post_message(BlocksLoaded(generation, {section.key: block}))

    @on(BlocksLoaded)
    def _take_blocks(self, event: BlocksLoaded) -> None:
        self._body.take(event.generation, event.blocks)

    # Copying

    def open_copies(self) -> None:
        """Ask what to copy."""
        from agentdbg.debugging.copies import copies
        from agentdbg.ui.screens.copies import CopyScreen

        app = self.debugger
        value = self._body.value() if self._body.has_focus else ""
        field = self._body.field() if self._body.has_focus else None
        entries = copies(self.session, value, field, *app.address_of(self.session))
        keys = tuple(map(textual_key, app.keymap.keys["copy"]))
        self.app.push_screen(
            CopyScreen(entries, keys), lambda at: None if at is None else self._copy_entry(entries[at])
        )

    def _copy_entry(self, entry: Copy) -> None:
        try:
            text = entry.load()
        except (BodyMissing, ValueError) as problem:
            self.say(f"cannot copy: {problem}", Tone.WARN)
        else:
            self._copy(text.encode("utf-8", "surrogatepass"), entry.what)

    def copy_body(self) -> None:
        """Copy the body under the cursor, byte for byte."""
        body = self._body.body()
        if body is None:
            self.say("nothing recorded to copy here")
        else:
            self._copy(body, "body")

    def _copy(self, data: bytes, what: str) -> None:
        from agentdbg.ui.copying import copy_out

        outcome = copy_out(self.app, data, what, confirmed=data == self._warned)
        self._warned = data if outcome.asks else None
        self.say(outcome.message, outcome.tone)

    def open_editor(self) -> None:
        """Open the body in $EDITOR."""
        from agentdbg.ui.copying import edit

        body = self._body.body()
        self.say(*edit(self.app, body if body is not None else self._body.value().encode("utf-8", "surrogatepass")))
