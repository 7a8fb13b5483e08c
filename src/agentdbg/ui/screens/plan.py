"""The replay dialog: what is asked of the replay, and below it the plan. Nothing runs before the plan was shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.worker import get_current_worker

from agentdbg.debugging.actions import Place
from agentdbg.debugging.document import Tone, span
from agentdbg.debugging.modes import mode_spans
from agentdbg.debugging.plan_pages import plan_document
from agentdbg.debugging.replay_dialog import Prepared, ReplayDialog
from agentdbg.debugging.replay_wish import Wish
from agentdbg.debugging.value_edits import CannotEdit, NoChange, NoJson, Value, value_of
from agentdbg.i18n.catalogue import message
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import Planned
from agentdbg.ui.screens.panes import WIDE
from agentdbg.ui.screens.two_panes import TwoPanes
from agentdbg.ui.widgets.bars import Bar, KeyBar
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt
from agentdbg.ui.widgets.replaying import ChoiceList

_REST: Final = 13
"""Rows of the screen that choices leave to everything else, where they can."""
_FEWEST: Final = 5


class PlanScreen(TwoPanes):
    """Asks how to replay a run."""

    PLACE: ClassVar[Place] = Place.PLAN
    BINDINGS = bindings_of(Place.PLAN)

    def __init__(self, dialog: ReplayDialog, *, edit: bool = False) -> None:
        """Ask.

        Args:
            dialog: The choices; the screen closes their run unless a replay takes it over.
            edit: Open the value of the selected step in the editor first.
        """
        self._dialog = dialog
        super().__init__(ChoiceList(dialog, id="choices"), dialog)
        self._edit = edit
        self._handed_over = False
        self._drafts: dict[int, str] = {}

    def compose(self) -> ComposeResult:
        """Status, choices, plan, prompt, keys."""
        yield Bar(id="status")
        with Vertical(id="panes"):
            yield self._list
            yield Bar(id="tabs")
            yield self._body
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Show the choices, and make the plan."""
        self.show_keys()
        self._list.focus()
        self.present()
        self._replan()
        if self._edit:
            self.call_after_refresh(self.open_editor)

    def on_unmount(self) -> None:
        """Close the run, unless it is being replayed."""
        self.workers.cancel_group(self, "plan")
        if not self._handed_over:
            self._dialog.close()
            self._dialog.source.close()

    def do(self, method: Callable[[], object]) -> None:
        """Do a dialog's action and show what comes of it."""
        self._dialog.row = self._list.cursor
        wish = self._dialog.wish
        method()
        self.present()
        if self._dialog.wish != wish:
            self._replan()

    def present(self) -> None:
        """Show choices, plan and status."""
        dialog = self._dialog
        count = len(dialog.choices)
        self._list.styles.height = min(count, max(self.size.height - _REST, _FEWEST)) if self.size.height else count
        self._list.update_lines()
        self._body.show(
            "plan", plan_document(dialog.prepared, wide=self.size.width >= WIDE), keep_place=dialog.prepared is not None
        )
        left = [
            *mode_spans(dialog.wish.mode, dialog.wish.edit_count),
            span(f" {message('dialog.replay')} "),
            span(dialog.run_id, Tone.STRONG),
        ]
        self.query_one("#status", Bar).show(left, [span(f"{message('dialog.nothing_runs')} ", Tone.DIM)])
        self.query_one("#tabs", Bar).show([span(f" {message('dialog.plan')}", Tone.HEADING)])
        if dialog.message:
            self.say(dialog.message, Tone.WARN)

    def on_resize(self) -> None:
        """Choices leave room to the plan."""
        self.present()

    def _replan(self) -> None:
        work = partial(self._make_plan, self._dialog.make(), self._dialog.wish)
        self.run_worker(work, thread=True, exclusive=True, group="plan", exit_on_error=False)

    def _make_plan(self, make: Callable[[], Prepared], wish: Wish) -> None:
        worker = get_current_worker()
        try:
            planned = Planned(wish, make())
        except Exception as problem:  # a record that cannot be planned costs a line
            planned = Planned(wish, None, f"{type(problem).__name__}: {problem}")
        if not worker.is_cancelled:
            self.post_message(planned)

    @on(Planned)
    def _take_plan(self, event: Planned) -> None:
        if event.prepared is None:
            self.say(f"cannot be planned: {event.problem}", Tone.WARN)
        elif self._dialog.adopt(event.prepared, event.wish):
            self._dialog.message = ""
            self.present()

    # Actions

    @on(LineView.Moved, "#choices")
    def _select(self, _event: LineView.Moved) -> None:
        self._dialog.row = self._list.cursor

    def type_value(self) -> None:
        """Type the value of the selected choice; where none can be typed, an edit."""
        self._dialog.row = self._list.cursor
        self.query_one(Prompt).ask(*self._dialog.typed())

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        self.do(partial(self._dialog.take, event.purpose, event.text))
        if self._dialog.message and event.purpose == "words":  # a long line is not typed twice
            self.query_one(Prompt).ask("words", message("dialog.words.typed"), event.text)

    def open_editor(self) -> None:
        """Open the recorded value of the selected step in the editor; what is changed there becomes an edit."""
        from agentdbg.ui.copying import edited

        dialog = self._dialog
        try:
            dialog.source.index(None)
            value = value_of(dialog.source, dialog.source.steps()[dialog.wish.step - 1])
        except (CannotEdit, OSError) as problem:
            self.say(message("dialog.edits.cannot", step=dialog.wish.step, why=str(problem)), Tone.WARN)
            return
        text, problem_there = edited(self.app, self._drafts.pop(value.step, value.text))
        if problem_there:
            self.say(problem_there, Tone.WARN)
            self._type_edit(value)
        else:
            self._take_edited(value, text)

    def _take_edited(self, value: Value, text: str) -> None:
        add = self._dialog.restore_with if value.restores else self._dialog.edit_with
        try:
            self.do(partial(add, value.step, *value.edits(text)))
        except NoChange as found:
            self.say(str(found), Tone.WARN)
        except NoJson as problem:  # what somebody wrote is not lost over a comma
            self._drafts[value.step] = text
            self.say(message("dialog.edits.again", why=str(problem), key=self.key_of("plan.editor")), Tone.WARN)

    def _type_edit(self, value: Value) -> None:
        """Without an editor the value is typed."""
        keys = [choice.key for choice in self._dialog.choices]
        if "edits" in keys:
            self._list.move_cursor(keys.index("edits"), tell=False)
        self.query_one(Prompt).ask("edits", message("dialog.edits.typed"), f"{value.step}:{value.top}=")

    def start(self) -> None:
        """Start the replay, once its plan was shown and nothing stands in the way."""
        from agentdbg.ui.screens.replay import ReplayScreen

        dialog = self._dialog
        if self._body.has_focus:
            self._body.toggle()
        elif not dialog.may_start():
            self._list.move_cursor(dialog.row, tell=False)
            self.say(dialog.message, Tone.WARN)
        else:
            try:
                screen = ReplayScreen(dialog)
            except Exception as problem:  # what was there when the plan was made is there no longer
                self.say(message("dialog.obstacle", what=str(problem)), Tone.WARN)
                self._replan()
                return
            self._handed_over = True
            self.debugger.wishes[dialog.run_id] = dialog.wish
            self.app.switch_screen(screen)
