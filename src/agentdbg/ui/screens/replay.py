"""A running replay: recorded steps and the replay's beside them, where it stands, what it prints, and its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import SuspendNotSupported

from agentdbg.debugging.actions import Place
from agentdbg.debugging.document import Tone, span
from agentdbg.debugging.held_calls import EDITED, choices_in_words, value_text
from agentdbg.debugging.modes import mode_spans
from agentdbg.debugging.replay_dialog import ReplayDialog
from agentdbg.debugging.replay_pages import live_document, state_spans
from agentdbg.i18n.catalogue import message
from agentdbg.i18n.phrases import phrase
from agentdbg.ui.copying import edited
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.lending import lent
from agentdbg.ui.messages import ReplayNews
from agentdbg.ui.screens.two_panes import TwoPanes
from agentdbg.ui.widgets.bars import Bar
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.pairs import head_row
from agentdbg.ui.widgets.prompt import Prompt
from agentdbg.ui.widgets.replaying import LivePairs

LOOK_SECONDS: Final = 0.25


class ReplayScreen(TwoPanes):
    """One replay."""

    PLACE: ClassVar[Place] = Place.REPLAY
    BINDINGS = bindings_of(Place.REPLAY)

    def __init__(self, dialog: ReplayDialog) -> None:
        """Start what a dialog asked for; the screen ends it when it goes."""
        self.live = dialog.live(self._wake)
        super().__init__(LivePairs(self.live, id="pairs"), self.live)
        self._dialog = dialog
        self._guard = dialog.wish.guard
        self._run_id = dialog.run_id
        self._leaving = False
        self._drafts: dict[tuple[str, str], str] = {}
        self._seen: tuple[str, object] = ("", None)

    def on_mount(self) -> None:
        """Start."""
        self.show_keys()
        self._list.focus()
        self.present()
        self.live.start()
        self._timer = self.set_interval(LOOK_SECONDS, self.take_in)

    def on_unmount(self) -> None:
        """End the replay; what there is of it is kept."""
        self.live.close()
        self._dialog.close()

    def do(self, method: Callable[[], object]) -> None:
        """Do a replay's action and show what comes of it."""
        self.live.cursor = self._list.cursor
        self._leaving = False
        method()
        self.present()
        if self.live.message:
            self.say(self.live.message)

    def _wake(self) -> None:
        self.post_message(ReplayNews())

    @on(ReplayNews)
    def take_in(self) -> None:
        """Show what happened since."""
        if not self.is_attached:
            return
        self.live.cursor = self._list.cursor
        said = self.live.message
        self.live.take_in()
        self.present()
        if self.live.message and self.live.message != said:
            self.say(self.live.message, Tone.WARN)
        if self.live.ended is not None:
            self._timer.stop()
        seen = (self.live.state, self.live.question)
        if seen != self._seen:  # what is asked, or how it ended, stands at the top
            self._seen = seen
            self._body.scroll_to(y=0, animate=False, immediate=True)

    def present(self) -> None:
        """Show steps, detail and status."""
        live = self.live
        self.show_keys()
        self._list.update_lines()
        self._list.move_cursor(live.cursor, tell=False)
        self._body.show("live", live_document(live), keep_place=True)
        place = f"{self._list.cursor + 1}/{len(live.pairs)} "
        mode = mode_spans(live.mode, self._dialog.wish.edit_count)
        left = [*mode, span(" "), span(self._run_id, Tone.STRONG), span("  ")]
        wished = self._dialog.wish
        right = [span(phrase(f"guard {self._guard}  "), Tone.DIM), span(place, Tone.DIM)]
        if wished.is_live and wished.samples != "1":
            right.insert(0, span(phrase(f"sample {live.sample} of {wished.samples}  "), Tone.ACCENT))
        self.query_one("#status", Bar).show([*left, *state_spans(live)], right)
        replay = live.outcome.replay_run if live.outcome is not None else None
        heads = head_row(self._run_id, replay or phrase("replay"), self._list.size.width, "became")
        self.query_one("#columns", Bar).show(heads)

    def on_resize(self) -> None:
        """Columns change their width."""
        self.call_after_refresh(self.present)

    @on(LineView.Moved, "#pairs")
    def _select(self, _event: LineView.Moved) -> None:
        self.live.cursor = self._list.cursor
        self.live.follow = self.live.follow and self.live.ended is not None
        self.present()

    @on(LineView.Chosen)
    def _choose(self, _event: LineView.Chosen) -> None:
        self.open_result()

    # Actions

    def open_inspect(self) -> None:
        """Ask for a line of pdb."""
        if self.live.held:
            self.query_one(Prompt).ask("inspect", "(pdb)")
        else:
            self.say("the replay has to be paused for that: P pauses before the next call")

    def open_pdb(self) -> None:
        """Give pdb the terminal until the user leaves it; the replay stays where it is then."""
        if not self.live.held:
            self.say("the replay has to be paused for that: P pauses before the next call")
            return
        from agentdbg.replay.pdb_talk import converse

        try:
            with lent(self.app, interrupts=True):
                converse(self.live.session)
        except SuspendNotSupported:
            self.say(message("live.no_terminal"), Tone.WARN)
        self.take_in()

    def open_decide(self) -> None:
        """Ask what becomes of the held call."""
        held = self.live.standing
        if held is None:
            self.say("no call is held: P pauses before the next one")
        elif not held.choices:
            self.say(message("live.decide.line" if held.call.kind == "line" else "live.decide.exact"))
        else:
            self.query_one(Prompt).ask("decide", choices_in_words(held.choices))

    def _edit_held(self, what: str) -> None:
        """Let the user edit the held call's arguments or result, and go on with that."""
        held = self.live.standing
        if held is None or what not in held.choices:
            self.say(message("live.decide.not_offered", what=what))
            return
        before, place = value_text(self.live.session, held, what), (held.call.id, what)
        text, problem = edited(self.app, self._drafts.pop(place, before))
        if problem:
            self.say(f"{problem}; {message('live.decide.value', what=what)}", Tone.WARN)
        elif text == before:
            self.say(message("live.decide.unchanged"))
        else:
            self._drafts[place] = text  # where it is not taken, the same again opens what was written
            self.do(partial(self.live.decide, f"{what}={text}"))

    def open_answer(self) -> None:
        """Ask what the replay asks."""
        asked = self.live.question
        if asked is None:
            self.say("the replay asks nothing")
        else:
            key = "approval" if asked.about == "approval" else "external"
            self.query_one(Prompt).ask("answer", message(f"live.answer.{key}"))

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        if event.purpose == "inspect" and event.text.strip():
            self.do(partial(self.live.inspect, event.text))
        elif event.purpose == "decide" and event.text.strip() in EDITED:
            self._edit_held(event.text.strip())
        elif event.purpose == "decide" and event.text.strip():
            self.do(partial(self.live.decide, event.text))
        elif event.purpose == "answer":
            self.do(partial(self.live.answer, event.text))

    def open_result(self) -> None:
        """Both runs side by side, at the first difference; in the detail: open or close a section."""
        if self._body.has_focus and self.live.ended is None:
            self._body.toggle()
        elif self.live.ended is None:
            self.say("the replay is not over yet: then enter opens both runs side by side")
        elif not self.live.published:
            self.say("there is no replayed run to look at")
        else:
            at = str(self.live.recorded.root)
            problem = self.debugger.open_side(self._run_id, self.live.published, address=at)
            if problem:
                self.say(problem, Tone.WARN)

    def again(self) -> None:
        """The dialog again, with the same choices."""
        from agentdbg.ui.replaying import dialog_for
        from agentdbg.ui.screens.plan import PlanScreen

        if self.live.ended is None:
            self.say("it is still running: x stops it, then r replays again")
            return
        dialog = dialog_for(self.debugger, str(self.live.recorded.root), self._dialog.wish.step)
        if isinstance(dialog, str):
            self.say(dialog, Tone.WARN)
        else:
            self.app.switch_screen(PlanScreen(dialog))

    def offers(self, action_id: str) -> bool:
        """Keys of its state: what is over cannot be paused, and nothing is answered that nobody asks."""
        if action_id in ("live.open", "live.again"):
            return self.live.ended is not None and (action_id == "live.again" or bool(self.live.published))
        if action_id == "live.answer":
            return self.live.question is not None
        if action_id in ("live.inspect", "live.decide"):
            held = self.live.held
            return bool(held) and (action_id == "live.inspect" or bool(held[0].choices))
        return not (action_id.startswith("live.") and self.live.ended is not None)

    def _ways_out(self) -> str:
        if self.live.ended is not None:
            return super()._ways_out()
        return f"{message('live.way_out', stop=self.key_of('live.stop'))}, {super()._ways_out()}"

    def back(self) -> None:
        """Leave; of a running replay, when asked twice: it is stopped."""
        if self.query_one(Prompt).is_open:
            self.close_prompt()
        elif self.has_class("-zoomed"):
            self.toggle_zoom()
        elif self.live.ended is None and not self._leaving:
            self._leaving = True
            self.say("it is still running: the same key again stops it and leaves", Tone.WARN)
        else:
            super().back()
