"""Ask: one model call again. First its price; then its samples, each beside the recorded answer."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.containers import Container, Vertical

from agentdbg.debugging.actions import Action, Owner, Place
from agentdbg.debugging.asking import Asking
from agentdbg.debugging.asking_pages import HEAD, ask_document, status_spans
from agentdbg.debugging.document import Tone, span
from agentdbg.debugging.jsontext import pretty
from agentdbg.model.canonical import dumps_json
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import AskNews
from agentdbg.ui.screens.base import ActionScreen
from agentdbg.ui.screens.panes import WIDE
from agentdbg.ui.widgets.answers import AnswerRows
from agentdbg.ui.widgets.bars import Bar, KeyBar
from agentdbg.ui.widgets.body import BodyView
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt


class AskScreen(ActionScreen):
    """One model call, asked again."""

    PLACE: ClassVar[Place] = Place.ASK
    BINDINGS = bindings_of(Place.ASK)

    def __init__(self, asking: Asking) -> None:
        """Show what asking would cost.

        Args:
            asking: The call; its run stays the caller's.
        """
        self.asking = asking
        super().__init__()
        self._rows = AnswerRows(asking, id="answers")
        self._body = BodyView(id="body")

    def compose(self) -> ComposeResult:
        """Status, answers, detail, prompt, keys."""
        yield Bar(id="status")
        with Container(id="panes"):
            with Vertical(id="steps-pane"):
                yield Bar(id="columns")
                yield self._rows
            with Vertical(id="detail-pane"):
                yield self._body
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Show the price."""
        self.show_keys()
        self._rows.focus()
        self.query_one("#columns", Bar).show([span(HEAD, Tone.DIM)])
        self.present()

    def on_unmount(self) -> None:
        """Wait for nothing any more."""
        self.asking.close()

    @property
    def lines(self) -> LineView:
        """The focused list."""
        return self._body if self._body.has_focus else self._rows

    def _method_of(self, action: Action) -> Callable[[], object]:
        if action.owner is Owner.SCREEN:
            return super()._method_of(action)
        return partial(self._do, cast("Callable[[], object]", getattr(self.asking, action.method)))

    def _do(self, method: Callable[[], object]) -> None:
        """Do one of the call's actions and show what comes of it."""
        self.asking.message = ""
        method()
        self.present()
        if self.asking.message:
            self.say(self.asking.message, Tone.WARN)

    def present(self, *, keep_place: bool = True) -> None:
        """Show answers, detail and status."""
        asking = self.asking
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

    # Actions

    def start(self) -> None:
        """Send it, at the price shown; never from the detail, where the same key opens a section."""
        if self._body.has_focus:
            self._body.toggle()
            return
        if self.asking.state == "done":
            self.switch_focus()
            return
        self._do(partial(self.asking.start, self._wake))
        if self.asking.state == "asking":
            self._rows.move_cursor(len(self.asking.rows) - len(self.asking.samples), tell=False)
            self.present(keep_place=False)

    def _wake(self) -> None:
        self.post_message(AskNews())

    def switch_focus(self) -> None:
        """From the answers to the detail and back."""
        (self._rows if self._body.has_focus else self._body).focus()

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
        from agentdbg.ui.copying import private_file

        question = self.asking.question
        if question is None or self.asking.state != "ready":
            self.say(self.asking.problem or "answered: r asks again", Tone.WARN)
            return
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        path = private_file("\n".join(pretty(dumps_json(question.body))).encode("utf-8", "surrogatepass"))
        try:
            with self.app.suspend():
                subprocess.run([*shlex.split(editor), path], check=False)
            text = Path(path).read_text(encoding="utf-8", errors="surrogatepass")
        except SuspendNotSupported:
            self.say("no editor can be opened here", Tone.WARN)
        except (OSError, ValueError) as problem:
            self.say(f"cannot open {editor}: {problem}", Tone.WARN)
        else:
            self._do(partial(self.asking.take_request, text))
        finally:
            Path(path).unlink(missing_ok=True)

    @on(Prompt.Entered)
    def _entered(self, event: Prompt.Entered) -> None:
        self.close_prompt()
        wanted = {
            "model": self.asking.choose_model,
            "address": self.asking.choose_address,
            "edit": self.asking.add_edit,
        }[event.purpose]
        self._do(partial(wanted, event.text))
