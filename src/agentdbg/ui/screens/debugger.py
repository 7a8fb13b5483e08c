"""The debugger: status, steps, detail, keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.worker import get_current_worker

from agentdbg.debugging.actions import Action, Owner, Place
from agentdbg.debugging.compared import TWIN, suggest_twin
from agentdbg.debugging.document import Tone, span
from agentdbg.debugging.filtering import Filtered
from agentdbg.debugging.hunt import Hunt
from agentdbg.debugging.overview import gather
from agentdbg.debugging.session import Session
from agentdbg.debugging.statefields import Path, hunt_change
from agentdbg.debugging.tabs import TABS, build
from agentdbg.model.records import Kind
from agentdbg.ui.comparing import Comparing
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import Compared, FilteredSteps, Gathered, Hunted, Sifted, Woken
from agentdbg.ui.noting import StepNotes
from agentdbg.ui.replaying import open_dialog
from agentdbg.ui.screens.panes import WIDE, PanesScreen
from agentdbg.ui.status import status_spans
from agentdbg.ui.tailing import Tail
from agentdbg.ui.widgets.bars import Bar, KeyBar, TabBar
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt
from agentdbg.ui.widgets.scrubber import Scrubber
from agentdbg.ui.widgets.steps import StepList, header_row


class DebuggerScreen(PanesScreen):
    """One run."""

    PLACE: ClassVar[Place] = Place.DEBUGGER
    BINDINGS = bindings_of(Place.DEBUGGER)

    def __init__(self, session: Session, *, against: str | None = None) -> None:
        """Debug a session's run; the screen closes it.

        Args:
            session: The session.
            against: Address of the run to compare with from the start; ``@twin`` for the one that is suggested.
        """
        self._steps = StepList(session, id="steps")
        super().__init__(session, self._steps)
        self._origin = 0
        self._tail = Tail(self, session)
        self._field: Path | None = None
        self._tail_started = False
        self._against = against
        self._comparing = Comparing(self)
        self._notes = StepNotes(self)

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
        self.session.diffs.suggest = partial(suggest_twin, self.debugger.store, self.session.source)
        self._show_columns()
        self.show_keys()
        self._steps.focus()
        self._tail.start()
        self._tail_started = True
        self.present()
        self.call_after_refresh(self._center)
        self.call_after_refresh(self._notes.read)
        if self.session.overview is None:
            self.gather()
        if self._against is not None:
            self._comparing.start(self._against)

    def on_unmount(self) -> None:
        """Stop watching and close the runs."""
        self._tail.stop()
        self._comparing.close()
        self.session.source.close()

    def _method_of(self, action: Action) -> Callable[[], object]:
        if action.owner is Owner.SCREEN:
            return super()._method_of(action)
        method = cast("Callable[[], object]", attrgetter(action.method)(self.session))
        return lambda: self._move(method)

    # Showing

    def present(self, *, keep_place: bool = False) -> None:
        """Show where the session is: cursor, detail, status."""
        self._steps.move_cursor(max(self.session.row, 0), tell=False)
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

    def _center(self) -> None:
        height = self._steps.size.height
        self._steps.scroll_to(y=max(self.session.row - height // 2, 0), animate=False, immediate=True)
        self._steps.reveal(self.session.row)

    # Moving

    def _move(self, method: Callable[[], object]) -> None:
        """Do a session's action and show where it led."""
        before, marked, view = self.session.cursor, self.session.stops.changes, self.session.diffs.view
        filtered = self.session.filtered
        method()
        if self.session.hunt is not None:
            self.say(f"looking for {self.session.hunt.what} …", Tone.DIM)
            self._pursue(self.session.hunt)
        if self.session.stops.changes != marked or self.session.filtered is not filtered:
            self._steps.update_lines()
        if self.session.cursor != before:
            self.present()
        elif self.session.diffs.view is not view:
            self.present(keep_place=True)
        else:
            self.present_status()

    @on(LineView.Moved, "#steps")
    def _select(self, event: LineView.Moved) -> None:
        self._move(lambda: self.session.goto(self.session.index_at(event.index)))

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
        elif 0 <= self.session.row + delta < self.session.rows:
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
        divergence = self.session.diffs.first_id
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

    # Search

    def open_search(self) -> None:
        """Ask what to search for."""
        self._origin = self.session.cursor
        self.query_one(Prompt).ask("search", "/", self.session.query)

    @on(Prompt.Typed)
    def _search_as_typed(self, event: Prompt.Typed) -> None:
        if event.purpose == "search":
            self._move(lambda: self.session.search(event.text, self._origin))
        elif event.purpose == "filter" and event.text.strip():
            self._filter(event.text.strip())
        elif event.purpose == "filter":
            self.workers.cancel_group(self, "filter")
            self._show_filtered(None)

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        if event.purpose == "search":
            self._move(lambda: self.session.search(event.text, self._origin))
        elif event.purpose == "compare":
            self._comparing.start(event.text.strip() or TWIN)
        elif event.purpose == "note" and event.text.strip():
            self.say(*self._notes.write(event.text))
            self._steps.update_lines()
            self.present(keep_place=True)
        elif event.purpose == "flag":
            self.say(*self.debugger.flag(self.session.source, event.text))
            self._tail.look()

    # Filter

    def open_filter(self) -> None:
        """Filter the steps as the user types."""
        words = self.session.filtered.words if self.session.filtered is not None else ""
        self.query_one(Prompt).ask("filter", "filter", words)

    @work(thread=True, exclusive=True, group="filter")
    def _filter(self, words: str) -> None:
        worker = get_current_worker()
        filtered = Filtered(words)
        if filtered.look(self.session.steps, lambda: worker.is_cancelled):
            self.post_message(FilteredSteps(filtered))

    @on(FilteredSteps)
    def _take_filtered(self, event: FilteredSteps) -> None:
        self._show_filtered(event.filtered)

    def _show_filtered(self, filtered: Filtered | None) -> None:
        self.session.filter(filtered)
        self._steps.update_lines()
        self.present()
        self._center()

    # State

    def last_change(self) -> None:
        """To the last change of the state field under the cursor, or of the one asked for before."""
        field = self._body.field() if self.tab_id == "state" and self._body.has_focus else None
        self._field = field or self._field
        if self._tab != "state":
            self.show_tab("state")
        if self._field is None:
            self.say("choose a field of the state (tab, arrows): then a goes to its last change")
        else:
            path = self._field
            self._move(lambda: hunt_change(self.session, path))

    # Comparing

    def open_compare(self) -> None:
        """Ask which run to compare with."""
        self.query_one(Prompt).ask("compare", "compare with (a run; empty: its twin)")

    def open_side(self) -> None:
        """Both runs side by side."""
        if self.session.diffs.compared is None:
            self.say("nothing to compare with yet: = compares with another run, or with its twin")
            return
        from agentdbg.ui.screens.side import SideScreen

        self.app.push_screen(SideScreen(self.session))

    def on_screen_resume(self) -> None:
        """Another screen may have moved the session's cursor."""
        if self._tail_started:
            self.on_resize()
            self.present()

    @on(Compared)
    def _take_compared(self, event: Compared) -> None:
        if event.compared is None:
            self.say(event.problem, Tone.WARN)
            return
        self._comparing.take(event.compared)
        self.session.compare(event.compared)
        self._show_columns()
        self._steps.update_lines()
        self.present()
        self._center()
        same = event.compared.difference.same
        found = "nothing differs" if same else "d goes to the first difference"
        self.say(event.compared.why or f"compared with {event.compared.other_id}: {found}")

    @on(Sifted)
    def _take_sifted(self, event: Sifted) -> None:
        if event.compared is self.session.diffs.compared:
            event.compared.settle()
            self._steps.update_lines()
            self.present(keep_place=True)

    def on_resize(self) -> None:
        """Two columns need room."""
        wide = self._body.size.width >= WIDE if self._body.size.width else self.size.width >= WIDE
        if wide != self.session.diffs.wide:
            self.session.diffs.wide = wide
            if self.is_attached and self.session.diffs.compared is not None:
                self.present(keep_place=True)

    def _show_columns(self) -> None:
        self.query_one("#columns", Bar).show(header_row(compared=self.session.diffs.compared is not None))

    def open_replay(self) -> None:
        """Ask how to replay this run."""
        self.say(open_dialog(self), Tone.WARN)

    def open_replay_edited(self) -> None:
        """Ask how to replay this run from an edited value."""
        self.say(open_dialog(self, edit=True), Tone.WARN)

    def open_ask(self) -> None:
        """Ask the selected model call again; first its price."""
        from agentdbg.debugging.asking import Asking, not_askable

        step = self.session.current
        if step is None or step.kind is not Kind.MODEL:
            self.say(not_askable(self.session.steps, self.session.cursor))
            return
        from agentdbg.ui.screens.ask import AskScreen

        self.app.push_screen(AskScreen(Asking(self.session.source, self.debugger.store, step)))

    def open_note(self) -> None:
        """Ask what to write on the selected step."""
        if self.session.current is not None:
            self.query_one(Prompt).ask("note", f"note on step {self.session.current.n}")

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
        elif self.session.filtered is not None:
            self._show_filtered(None)
        elif self.has_class("-zoomed"):
            self.toggle_zoom()
        else:
            super().back()
            return
        self.present_status()
