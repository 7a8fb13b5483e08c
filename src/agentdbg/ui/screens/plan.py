"""The replay dialog: what is asked of the replay, and below it the plan. Nothing runs before the plan was shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.worker import get_current_worker

from agentdbg.debugging.actions import Action, Owner, Place
from agentdbg.debugging.document import Tone, span
from agentdbg.debugging.replay_pages import MODE_WORDS, plan_document
from agentdbg.debugging.replay_wish import ReplayDialog, Wish
from agentdbg.replay.plan import Plan
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import Planned
from agentdbg.ui.screens.base import ActionScreen
from agentdbg.ui.widgets.bars import Bar, KeyBar
from agentdbg.ui.widgets.body import BodyView
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt
from agentdbg.ui.widgets.replaying import ChoiceList


class PlanScreen(ActionScreen):
    """Asks how to replay a run."""

    PLACE: ClassVar[Place] = Place.PLAN
    BINDINGS = bindings_of(Place.PLAN)

    def __init__(self, dialog: ReplayDialog, *, edit: bool = False) -> None:
        """Ask.

        Args:
            dialog: The choices; the screen closes their run unless a replay takes it over.
            edit: Ask for an edit first.
        """
        self._dialog = dialog
        super().__init__()
        self._choices = ChoiceList(dialog, id="choices")
        self._body = BodyView(id="body")
        self._edit = edit
        self._handed_over = False

    def compose(self) -> ComposeResult:
        """Status, choices, plan, prompt, keys."""
        yield Bar(id="status")
        with Vertical(id="panes"):
            yield self._choices
            yield Bar(id="tabs")
            yield self._body
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Show the choices, and make the plan."""
        self.show_keys()
        self._choices.focus()
        self.present()
        self._replan()
        if self._edit:
            self.call_after_refresh(self.open_edit)

    def on_unmount(self) -> None:
        """Close the run, unless it is being replayed."""
        self.workers.cancel_group(self, "plan")
        if not self._handed_over:
            self._dialog.source.close()

    @property
    def lines(self) -> LineView:
        """The focused list."""
        return self._body if self._body.has_focus else self._choices

    def _method_of(self, action: Action) -> Callable[[], object]:
        if action.owner is Owner.SCREEN:
            return super()._method_of(action)
        return partial(self._do, cast("Callable[[], object]", getattr(self._dialog, action.method)))

    def _do(self, method: Callable[[], object]) -> None:
        """Do a dialog's action and show what comes of it."""
        self._dialog.row = self._choices.cursor
        wish = self._dialog.wish
        method()
        self.present()
        if self._dialog.wish != wish:
            self._replan()

    def present(self) -> None:
        """Show choices, plan and status."""
        dialog = self._dialog
        self._choices.styles.height = len(dialog.choices)
        self._choices.update_lines()
        self._body.show("plan", plan_document(dialog.plan))
        left = [span(MODE_WORDS[dialog.wish.mode], Tone.WARN), span(" replay "), span(dialog.run_id, Tone.STRONG)]
        self.query_one("#status", Bar).show(left, [span("nothing runs yet ", Tone.DIM)])
        self.query_one("#tabs", Bar).show([span(" Plan", Tone.HEADING)])
        if dialog.message:
            self.say(dialog.message, Tone.WARN)

    def _replan(self) -> None:
        work = partial(self._make_plan, self._dialog.make(), self._dialog.wish)
        self.run_worker(work, thread=True, exclusive=True, group="plan", exit_on_error=False)

    def _make_plan(self, make: Callable[[], Plan], wish: Wish) -> None:
        worker = get_current_worker()
        try:
            message = Planned(wish, make())
        except Exception as problem:  # a record that cannot be planned costs a line
            message = Planned(wish, None, f"{type(problem).__name__}: {problem}")
        if not worker.is_cancelled:
            self.post_message(message)

    @on(Planned)
    def _take_plan(self, event: Planned) -> None:
        if event.plan is None:
            self.say(f"cannot be planned: {event.problem}", Tone.WARN)
        elif self._dialog.adopt(event.plan, event.wish):
            self.present()

    # Actions

    def row_down(self) -> None:
        """Next choice, or next line of the plan."""
        super().row_down()
        self._dialog.row = self._choices.cursor

    def switch_focus(self) -> None:
        """From the choices to the plan and back."""
        (self._choices if self._body.has_focus else self._body).focus()

    def open_edit(self) -> None:
        """Ask for an edit."""
        self.query_one(Prompt).ask("edit", "edit STEP:PATH=JSON", f"{self._dialog.wish.step}:result=")

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        if event.purpose == "edit":
            self._do(partial(self._dialog.add_edit, event.text))

    def start(self) -> None:
        """Start the replay, once its plan was shown and nothing stands in the way."""
        from agentdbg.ui.screens.replay import ReplayScreen

        dialog = self._dialog
        if not dialog.may_start():
            self._choices.move_cursor(dialog.row, tell=False)
            self.say(dialog.message, Tone.WARN)
            return
        self._handed_over = True
        self.app.switch_screen(ReplayScreen(dialog))
