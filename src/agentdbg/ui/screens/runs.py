"""The run list: every run of the store, live ones on top."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.worker import get_current_worker

from agentdbg.debugging.actions import Place
from agentdbg.debugging.compared import TWIN
from agentdbg.debugging.document import Tone, span
from agentdbg.debugging.runlist import arrange
from agentdbg.model.records import RunSummary
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import RunsListed
from agentdbg.ui.screens.base import ActionScreen
from agentdbg.ui.widgets.bars import Bar, KeyBar
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt
from agentdbg.ui.widgets.runs import RunList, head_row

_BATCH: Final = 500
_PULSE_SECONDS: Final = 0.6
_RELOAD_SECONDS: Final = 2.0
_RELOAD_PATIENCE: Final = 20
"""Reading the list may take this part of the time: a list that takes 0.2 s is read every 4 s."""


class RunsScreen(ActionScreen):
    """The runs of a store."""

    PLACE: ClassVar[Place] = Place.RUNS
    BINDINGS = bindings_of(Place.RUNS)

    def __init__(self, problem: str = "") -> None:
        """List the store's runs.

        Args:
            problem: Why the run that was asked for cannot be shown.
        """
        super().__init__()
        self._list = RunList(id="runs")
        self._runs: list[RunSummary] = []
        self._words = ""
        self._problem = problem
        self._next_reload = 0.0

    def compose(self) -> ComposeResult:
        """Status, columns, list, prompt, keys."""
        yield Bar(id="status")
        yield Bar(id="banner")
        with Vertical(id="panes"):
            yield Bar(id="columns")
            yield self._list
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    @property
    def lines(self) -> LineView:
        """The run list."""
        return self._list

    def on_mount(self) -> None:
        """Read the store, and go on reading it."""
        self.show_keys()
        self.show_problem(self._problem)
        self._list.say_nothing([span("  reading the store …", Tone.DIM)])
        self._list.focus()
        self._present()
        self.reload()
        if self.debugger.animated:
            self.set_interval(_PULSE_SECONDS, self._list.pulse)
            self.set_interval(_RELOAD_SECONDS, self._reload_when_due)

    def on_screen_resume(self) -> None:
        """Runs may have changed while another screen was up."""
        self.reload()

    def on_resize(self) -> None:
        """Columns come and go with the width."""
        self.query_one("#columns", Bar).show(head_row(self.size.width))

    def show_problem(self, problem: str) -> None:
        """Say why a run cannot be opened; an empty text says that all is well."""
        banner = self.query_one("#banner", Bar)
        banner.display = bool(problem)
        banner.show([span(" ! ", Tone.WARN), span(problem, Tone.WARN)])

    def _present(self) -> None:
        rows = arrange(self._runs, self._words)
        self._list.show_rows(rows)
        shown = f"{len(rows)} of {len(self._runs)} runs" if self._words else f"{len(self._runs)} runs"
        left = [
            span(" agentdbg ", Tone.HEADING),
            span(f" {shown}", Tone.STRONG),
            span(f"  {self.debugger.store.location()}", Tone.DIM),
        ]
        right = [span(f"filter: {self._words}  ", Tone.ACCENT)] if self._words else []
        if self._list.selected:
            right.append(span(f"{len(self._list.selected)} selected ", Tone.ACCENT))
        self.query_one("#status", Bar).show(left, right)

    # Reading

    def reload(self) -> None:
        """Read the store again."""
        self._next_reload = float("inf")
        self._read()

    def _reload_when_due(self) -> None:
        if monotonic() >= self._next_reload and self.is_current:
            self.reload()

    @work(thread=True, exclusive=True, group="runs")
    def _read(self) -> None:
        worker = get_current_worker()
        runs: list[RunSummary] = []
        first = not self._runs
        try:
            for run in self.debugger.store.summaries():
                if worker.is_cancelled:
                    return
                runs.append(run)
                if first and len(runs) % _BATCH == 0:
                    self.post_message(RunsListed(list(runs), done=False))
        except Exception as problem:  # whatever a store does, the list says so and stays
            self.post_message(RunsListed(runs, done=True, problem=f"{type(problem).__name__}: {problem}"))
            return
        self.post_message(RunsListed(runs, done=True))

    @on(RunsListed)
    def _take_runs(self, event: RunsListed) -> None:
        self._runs = event.runs
        if event.done:
            self._next_reload = monotonic() + _RELOAD_SECONDS
            empty = "  no runs here yet: record one, or open the demo with agentdbg demo"
            self._list.say_nothing([span(event.problem or empty, Tone.WARN if event.problem else Tone.DIM)])
            if event.problem:
                self.show_problem(event.problem)
        self._present()

    # Actions

    @on(LineView.Chosen)
    def _choose(self, _event: LineView.Chosen) -> None:
        self.open_run()

    def open_run(self) -> None:
        """Open the run under the cursor."""
        run = self._list.current
        if run is not None:
            self.show_problem(self.debugger.open_run(run.run_id))

    def open_side(self) -> None:
        """The selected run beside the one under the cursor, or two selected ones."""
        chosen = [row.run.run_id for row in self._list.rows if row.run.run_id in self._list.selected]
        current = self._list.current
        if len(chosen) == 1 and current is not None and current.run_id != chosen[0]:
            chosen.append(current.run_id)
        if len(chosen) == 2:
            self.show_problem(self.debugger.open_side(*chosen))
        elif len(chosen) < 2 and current is not None:
            self.show_problem(self.debugger.open_side(current.run_id, TWIN))
        else:
            self.say("select two runs with space: then this compares them")

    def open_filter(self) -> None:
        """Filter as the user types."""
        self.query_one(Prompt).ask("filter", "filter", self._words)

    def select_run(self) -> None:
        """Select the run, and go to the next."""
        self._list.toggle()
        self._list.move_cursor(self._list.cursor + 1)
        self._present()

    def open_flag(self) -> None:
        """Ask why the selected runs, or the run under the cursor, are bad."""
        if self._flagged_ids():
            self.query_one(Prompt).ask("flag", "flag because")

    def _flagged_ids(self) -> list[str]:
        current = self._list.current
        return sorted(self._list.selected) or ([current.run_id] if current is not None else [])

    @on(Prompt.Typed)
    def _filter(self, event: Prompt.Typed) -> None:
        if event.purpose == "filter":
            self._words = event.text
            self._present()

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        if event.purpose == "flag":
            self.say(*self.debugger.flag(self._flagged_ids(), event.text))
            self.reload()

    def back(self) -> None:
        """Close the prompt, drop the filter; then leave."""
        if self.query_one(Prompt).is_open:
            self.close_prompt()
        elif not self._words:
            super().back()
            return
        self._words = ""
        self._present()
