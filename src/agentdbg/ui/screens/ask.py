"""Ask: one model call again. First its price; then its samples, each beside the recorded answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from textual import on

from agentdbg.debugging.actions import Place
from agentdbg.debugging.asking import Asking
from agentdbg.debugging.asking_pages import HEAD, ask_document, status_spans
from agentdbg.debugging.document import Tone, span
from agentdbg.debugging.jsontext import pretty
from agentdbg.model.canonical import dumps_json
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import AskNews
from agentdbg.ui.screens.panes import WIDE
from agentdbg.ui.screens.two_panes import TwoPanes
from agentdbg.ui.widgets.answers import AnswerRows
from agentdbg.ui.widgets.bars import Bar
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt

_ONLY_READY: Final = ("ask.start", "ask.more", "ask.fewer", "ask.model", "ask.edit", "ask.address")
_LEADS_ON: Final = ("ask.model", "ask.edit", "ask.address")
"""What may help where a call cannot be asked as it is."""


class AskScreen(TwoPanes):
    """One model call, asked again."""

    PLACE: ClassVar[Place] = Place.ASK
    BINDINGS = bindings_of(Place.ASK)

    def __init__(self, asking: Asking) -> None:
        """Show what asking would cost.

        Args:
            asking: The call; its run stays the caller's.
        """
        self.asking = asking
        self._rows = AnswerRows(asking, id="answers")
        super().__init__(self._rows, asking)

    def on_mount(self) -> None:
        """Show the price."""
        self.show_keys()
        self._rows.focus()
        self.query_one("#columns", Bar).show([span(HEAD, Tone.DIM)])
        self.present()

    def on_unmount(self) -> None:
        """Wait for nothing any more."""
        self.asking.close()

    def do(self, method: Callable[[], object]) -> None:
        """Do one of the call's actions and show what comes of it."""
        self.asking.message = ""
        method()
        self.present()
        if self.asking.message:
            self.say(self.asking.message, Tone.WARN)

    def present(self, *, keep_place: bool = True) -> None:
        """Show answers, detail and status."""
        asking = self.asking
        self.show_keys()
        self._rows.update_lines()
        wide = self._body.size.width >= WIDE
        self._body.show("ask", ask_document(asking, self._rows.selected, wide=wide), keep_place=keep_place)
        live = [span(" LIVE ", Tone.ERROR)] if asking.state == "asking" else []
        left = [*live, span(" ask ", Tone.HEADING), span(f"step {asking.step.n}  "), *status_spans(asking)]
        right = [span(f"{asking.step.name}  ", Tone.DIM), span(f"{asking.run_id} ", Tone.STRONG)]
        self.query_one("#status", Bar).show(left, right)

    def on_resize(self) -> None:
        """Two columns need room."""
        self.call_after_refresh(self.present)

    @on(LineView.Moved, "#answers")
    def _select(self, _event: LineView.Moved) -> None:
        self.present(keep_place=False)

    @on(AskNews)
    def take_in(self) -> None:
        """Show what came."""
        if not self.is_attached:
            return
        self.asking.message = ""
        self.asking.take_in()
        self.present()
        if self.asking.message:
            self.say(self.asking.message, Tone.WARN)

    def offers(self, action_id: str) -> bool:
        """Keys of the price before, of waiting while, of the answers after."""
        state = self.asking.state
        if action_id in _ONLY_READY:
            return state == "ready" and (self.asking.question is not None or action_id in _LEADS_ON)
        return {"ask.stop": "asking", "ask.again": "done"}.get(action_id, state) == state

    # Actions

    def start(self) -> None:
        """Send it, at the price shown; never from the detail, where the same key opens a section."""
        if self._body.has_focus:
            self._body.toggle()
            return
        if self.asking.state == "done":
            self.switch_focus()
            return
        self.do(partial(self.asking.start, self._wake))
        if self.asking.state == "asking":
            self._rows.move_cursor(len(self.asking.rows) - len(self.asking.samples), tell=False)
            self.present(keep_place=False)

    def _wake(self) -> None:
        self.post_message(AskNews())

    def open_model(self) -> None:
        """Ask for another model."""
        self.query_one(Prompt).ask("model", "model (empty: the recorded one)", self.asking.wish.model or "")

    def open_address(self) -> None:
        """Ask where to send it."""
        self.query_one(Prompt).ask("address", "base address (empty: the recorded one)", self.asking.wish.base_url or "")

    def open_edit(self) -> None:
        """Ask for an edit."""
        self.query_one(Prompt).ask("edit", "edit PATH=JSON (empty: none)", "messages[-1].content=")

    def edit_request(self) -> None:
        """Open the whole request in $EDITOR."""
        from agentdbg.ui.copying import edited

        question = self.asking.question
        if question is None or self.asking.state != "ready":
            self.say(self.asking.problem or "answered: r asks again", Tone.WARN)
            return
        text, problem = edited(self.app, "\n".join(pretty(dumps_json(question.body))))
        if problem:
            self.say(problem, Tone.WARN)
        else:
            self.do(partial(self.asking.take_request, text))

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        wanted = {
            "model": self.asking.choose_model,
            "address": self.asking.choose_address,
            "edit": self.asking.add_edit,
        }[event.purpose]
        self.do(partial(wanted, event.text))
