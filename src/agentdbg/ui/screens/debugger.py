"""The debugger: status, steps, detail, keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.worker import get_current_worker

from agentdbg.debugging import marks
from agentdbg.debugging.actions import Action, Owner, Place
from agentdbg.debugging.document import Section, Tone, load, span
from agentdbg.debugging.hunt import Hunt
from agentdbg.debugging.overview import gather
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs import TABS, build, telling_tab
from agentdbg.ui.copying import Copied, copy_out, edit
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import BlocksLoaded, Gathered, Hunted, Woken
from agentdbg.ui.screens.base import ActionScreen
from agentdbg.ui.status import status_spans
from agentdbg.ui.tailing import Tail
from agentdbg.ui.widgets.bars import Bar, KeyBar, TabBar
from agentdbg.ui.widgets.body import BodyView
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt
from agentdbg.ui.widgets.scrubber import Scrubber
from agentdbg.ui.widgets.steps import StepList, header_row


class DebuggerScreen(ActionScreen):
    """One run."""

    PLACE: ClassVar[Place] = Place.DEBUGGER
    BINDINGS = bindings_of(Place.DEBUGGER)

    def __init__(self, session: Session) -> None:
        """Debug a session's run; the screen closes it."""
        self.session = session
        super().__init__()
        self._steps = StepList(session, id="steps")
        self._body = BodyView(id="body")
        self._tab: str | None = None
        self._origin = 0
        self._warned: bytes | None = None
        self._tail = Tail(self, session)

    def compose(self) -> ComposeResult:
        """Status, steps, detail, prompt, keys."""
        yield Bar(id="status")
        yield Bar(id="banner")
        with Container(id="panes"):
            with Vertical(id="steps-pane"):
                yield Bar(id="columns")
                yield self._steps
                yield Scrubber(self.session, id="scrubber")
            with Vertical(id="detail-pane"):
                yield TabBar(id="tabs")
                yield self._body
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Show the scene; watch what is still growing; look through the run."""
        self.query_one("#columns", Bar).show(header_row())
        self.show_keys()
        self._steps.focus()
        self._tail.start()
        self.present()
        self.call_after_refresh(self._center)
        if self.session.overview is None:
            self.gather()

    def on_unmount(self) -> None:
        """Stop watching and close the run."""
        self._tail.stop()
        self.session.source.close()

    @property
    def lines(self) -> LineView:
        """The focused pane."""
        return self._body if self._body.has_focus else self._steps

    def _method_of(self, action: Action) -> Callable[[], object]:
        if action.owner is Owner.SCREEN:
            return super()._method_of(action)
        method = cast("Callable[[], object]", getattr(self.session, action.method))
        return lambda: self._move(method)

    # Showing

    def present(self, *, keep_place: bool = False) -> None:
        """Show where the session is: cursor, detail, status."""
        self._steps.move_cursor(max(self.session.cursor, 0), tell=False)
        self._body.show(self.tab_id, build(self.tab_id, self.session), keep_place=keep_place)
        self.present_status()

    def present_news(self, *, keep_place: bool) -> None:
        """Show that steps, or what is known about them, have changed."""
        self._steps.update_lines()
        self.present(keep_place=keep_place)

    def present_status(self) -> None:
        """Show what the bars say."""
        self.query_one("#status", Bar).show(*status_spans(self.session, watching=self._tail.kind))
        self.query_one(Scrubber).update_track()
        pinned = [] if self._tab is not None else [span("tab follows the step ", Tone.DIM)]
        self.query_one(TabBar).show_tabs(((t.id, t.digit, t.title) for t in TABS), self.tab_id, pinned)
        problems = self.session.source.problems()
        banner = self.query_one("#banner", Bar)
        banner.display = bool(problems)
        if problems:
            more = f"  (+{len(problems) - 1} more: 0 lists them)" if len(problems) > 1 else ""
            banner.show([span(" ! ", Tone.WARN), span(problems[0] + more, Tone.WARN)])
        if self.session.message:
            self.say(self.session.message)

    @property
    def tab_id(self) -> str:
        """The tab that is shown: the user's choice, else the one that tells most about the step."""
        return self._tab or telling_tab(self.session.current)

    def _center(self) -> None:
        height = self._steps.size.height
        self._steps.scroll_to(y=max(self.session.cursor - height // 2, 0), animate=False, immediate=True)
        self._steps.reveal(self.session.cursor)

    # Moving

    def _move(self, method: Callable[[], object]) -> None:
        """Do a session's action and show where it led."""
        before, marked = self.session.cursor, len(self.session.bookmarks)
        method()
        if self.session.hunt is not None:
            self.say(f"looking for {self.session.hunt.what} …", Tone.DIM)
            self._pursue(self.session.hunt)
        if len(self.session.bookmarks) != marked:
            self._steps.update_lines()
        if self.session.cursor != before:
            self.present()
        else:
            self.present_status()

    @on(LineView.Moved, "#steps")
    def _select(self, event: LineView.Moved) -> None:
        self._move(lambda: self.session.goto(event.index))

    @on(LineView.Chosen)
    def _choose(self, _event: LineView.Chosen) -> None:
        self.open_close()

    @on(Scrubber.Picked)
    def _jump(self, event: Scrubber.Picked) -> None:
        self._move(lambda: self.session.goto(event.index))

    def row_down(self) -> None:
        """Next row of the focused pane."""
        self._row(1)

    def row_up(self) -> None:
        """Previous row of the focused pane."""
        self._row(-1)

    def _row(self, delta: int) -> None:
        if self._body.has_focus:
            self._body.move_cursor(self._body.cursor + delta)
        elif 0 <= self.session.cursor + delta < self.session.count:
            self._move(lambda: self.session.move(delta))

    def first_row(self) -> None:
        """First row of the focused pane."""
        super().first_row() if self._body.has_focus else self._move(self.session.first)

    def last_row(self) -> None:
        """Last row of the focused pane; of the steps of a live run: follow."""
        super().last_row() if self._body.has_focus else self._move(self.session.last)

    @work(thread=True, exclusive=True, group="hunt")
    def _pursue(self, hunt: Hunt) -> None:
        worker = get_current_worker()
        while not worker.is_cancelled and hunt is self.session.hunt:
            if hunt.advance(2_000):
                self.post_message(Hunted(hunt))
                return

    @on(Hunted)
    def _take_hunt(self, event: Hunted) -> None:
        if self.session.finish(event.hunt):
            self.say("")
            self.present()

    @work(thread=True, exclusive=True, group="overview")
    def gather(self) -> None:
        """Look through the whole run, off the screen's thread."""
        worker = get_current_worker()
        divergence = marks.first_divergence_id(self.session.summary)
        overview = gather(self.session.steps, divergence_id=divergence, stop=lambda: worker.is_cancelled)
        if overview.complete:
            self.post_message(Gathered(overview))

    @on(Gathered)
    def _take_overview(self, event: Gathered) -> None:
        if self.session.adopt(event.overview):
            self.present()
            self._center()
        elif self.tab_id == "summary":
            self.present(keep_place=True)

    @on(Woken)
    def _look(self, _event: Woken) -> None:
        self._tail.look()

    # Bodies

    @on(BodyView.Wanted)
    def _read(self, event: BodyView.Wanted) -> None:
        self._read_bodies(event.generation, event.sections)

    @work(thread=True, exclusive=True, group="bodies")
    def _read_bodies(self, generation: int, sections: list[Section]) -> None:
        worker = get_current_worker()
        for section in sections:
            if worker.is_cancelled:
                return
            self.post_message(BlocksLoaded(generation, {section.key: load(section)}))

    @on(BlocksLoaded)
    def _take_blocks(self, event: BlocksLoaded) -> None:
        self._body.take(event.generation, event.blocks)

    # Tabs and panes

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

    def show_versions(self) -> None:
        """Versions."""
        self.show_tab("versions")

    def show_raw(self) -> None:
        """Raw."""
        self.show_tab("raw")

    def switch_focus(self) -> None:
        """To the other pane; a zoom goes along."""
        target = self._steps if self._body.has_focus else self._body
        self._zoom_on(target if self.has_class("-zoomed") else None)
        target.focus()

    def toggle_zoom(self) -> None:
        """Give the focused pane the whole screen, or share it again."""
        self._zoom_on(None if self.has_class("-zoomed") else self.lines)

    def _zoom_on(self, pane: LineView | None) -> None:
        self.set_class(pane is not None, "-zoomed")
        self.query_one("#steps-pane").display = pane is not self._body
        self.query_one("#detail-pane").display = pane is not self._steps

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

    # Search

    def open_search(self) -> None:
        """Ask what to search for."""
        self._origin = self.session.cursor
        self.query_one(Prompt).ask("search", "/", self.session.query)

    @on(Prompt.Typed)
    def _search_as_typed(self, event: Prompt.Typed) -> None:
        if event.purpose == "search":
            self._move(lambda: self.session.search(event.text, self._origin))

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        if event.purpose == "search":
            self._move(lambda: self.session.search(event.text, self._origin))
        elif event.purpose == "flag":
            self.say(*self.debugger.flag(self.session.source, event.text))
            self._tail.look()

    def open_flag(self) -> None:
        """Ask why the run is bad."""
        self.query_one(Prompt).ask("flag", "flag because", self.session.summary.flag or "")

    def back(self) -> None:
        """Close the prompt, the search, the zoom; then leave."""
        if self.query_one(Prompt).is_open:
            self.session.close_search()
            self.close_prompt()
        elif self.session.query:
            self.session.close_search()
        elif self.has_class("-zoomed"):
            self.toggle_zoom()
        else:
            super().back()
            return
        self.present_status()

    # Copying

    def copy_value(self) -> None:
        """Copy the value under the cursor; from the steps, the step's id."""
        if self._body.has_focus:
            self._copy(self._body.value().encode("utf-8", "surrogatepass"), "value")
        elif self.session.current is not None:
            self._copy(self.session.current.id.encode(), "step id")

    def copy_body(self) -> None:
        """Copy the body under the cursor, byte for byte."""
        body = self._body.body()
        if body is None:
            self.say("nothing recorded to copy here")
        else:
            self._copy(body, "body")

    def _copy(self, data: bytes, what: str) -> None:
        outcome: Copied = copy_out(self.app, data, what, confirmed=data == self._warned)
        self._warned = data if outcome.asks else None
        self.say(outcome.message, outcome.tone)

    def open_editor(self) -> None:
        """Open the body in $EDITOR."""
        body = self._body.body()
        self.say(*edit(self.app, body if body is not None else self._body.value().encode("utf-8", "surrogatepass")))
