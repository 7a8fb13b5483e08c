"""Side by side: two runs' steps aligned, the six answers above, what differs below."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from agentdbg.debugging.actions import Place
from agentdbg.debugging.compared import ComparedRun
from agentdbg.debugging.document import Document, Tone, note, span
from agentdbg.debugging.modes import mode_spans
from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.diff import pair_document
from agentdbg.model.lineage import edit_count
from agentdbg.ui.comparing import Comparing
from agentdbg.ui.keymap import bindings_of
from agentdbg.ui.messages import Compared, Sifted
from agentdbg.ui.screens.panes import WIDE, PanesScreen
from agentdbg.ui.widgets.bars import Bar, KeyBar
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.pairs import AnswerList, PairList, head_row
from agentdbg.ui.widgets.prompt import Prompt


class SideScreen(PanesScreen):
    """Two runs."""

    PLACE: ClassVar[Place] = Place.SIDE
    BINDINGS = bindings_of(Place.SIDE)

    def __init__(self, session: Session, *, against: str | None = None) -> None:
        """Compare a session's run.

        Args:
            session: Of the first run.
            against: Address of the second run; this screen then closes both. ``None``: the run that the session is
                compared with already, by another screen.
        """
        self._pairs = PairList(id="pairs")
        super().__init__(session, self._pairs)
        self._answers = AnswerList(id="answers")
        self._against = against
        self._comparing = Comparing(self)
        self._arrived = False

    def compose(self) -> ComposeResult:
        """Status, answers, pairs, detail, keys."""
        yield Bar(id="status")
        yield self._answers
        with Container(id="panes"):
            with Vertical(id="steps-pane"):
                yield Bar(id="columns")
                yield self._pairs
            with Vertical(id="detail-pane"):
                yield Bar(id="tabs")
                yield self._body
        yield Prompt(id="prompt")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Compare, unless that is done already."""
        self.show_keys()
        self._pairs.focus()
        self.session.diffs.wide = self.size.width >= WIDE
        self.present()
        if self._against is not None:
            self._comparing.start(self._against)
        elif self.compared is not None:
            self._show(self.compared, self.compared.place_of(self.session.cursor))

    def on_unmount(self) -> None:
        """Close what this screen opened."""
        if self._against is not None:
            self._comparing.close()
            self.session.source.close()

    @property
    def compared(self) -> ComparedRun | None:
        """The two runs, once compared."""
        return self.session.diffs.compared

    @property
    def lines(self) -> LineView:
        """The focused list."""
        return self._answers if self._answers.has_focus else super().lines

    # Showing

    def present(self, *, keep_place: bool = False) -> None:
        """Show the pair under the cursor."""
        compared, place = self.compared, self._pairs.cursor
        if compared is None or place >= len(compared.pairs):
            document = Document((note("pending", "comparing …"),))
        else:
            document = pair_document(self.session, compared, place, brief=True)
        self._body.show("pair", document, keep_place=keep_place)
        self._present_bars()

    def _present_bars(self) -> None:
        compared = self.compared
        left = [span(" side by side ", Tone.HEADING)]
        summary = self.session.summary
        right = [*mode_spans(summary.mode, edit_count(summary)), span(summary.run_id, Tone.STRONG)]
        if compared is not None:
            where = f" {self._pairs.cursor + 1}/{len(compared.pairs)} "
            count = sum(map(compared.is_telling, compared.difference.paired.differing))
            left += [span(where, Tone.DIM), span(f" {count} steps differ", Tone.WARN if count else Tone.OK)]
            other = compared.other.summary()
            right += [span(" │ ", Tone.DIM), *mode_spans(other.mode, edit_count(other))]
            right.append(span(f"{compared.other_id} ", Tone.STRONG))
            self.query_one("#columns", Bar).show(
                head_row(self.session.summary.run_id, compared.other_id, self.size.width)
            )
            sign = span(" = ", Tone.OK) if compared.difference.same else span(" ≠ ", Tone.ERROR)
            self.query_one("#tabs", Bar).show([sign, span(compared.headline(), Tone.STRONG)])
        self.query_one("#status", Bar).show(left, right)

    def _show(self, compared: ComparedRun, place: int | None) -> None:
        self._pairs.compared = self._answers.compared = compared
        self._pairs.update_lines()
        self._answers.update_lines()
        first = compared.parting_place
        target = place if place is not None else first if first is not None else 0
        self._pairs.move_cursor(target, tell=False)
        height = self._pairs.size.height
        self._pairs.scroll_to(y=max(target - height // 2, 0), animate=False, immediate=True)
        self.present()
        for line in compared.difference.notes[:1]:
            self.say(line, Tone.WARN)

    @on(Compared)
    def _take_compared(self, event: Compared) -> None:
        if event.compared is None:
            self.say(event.problem, Tone.WARN)
            return
        self.session.compare(event.compared)
        self._comparing.take(event.compared)
        self.say("")
        self._show(event.compared, None)

    @on(Sifted)
    def _take_sifted(self, event: Sifted) -> None:
        event.compared.settle()
        self._pairs.update_lines()
        self._answers.update_lines()
        self.present(keep_place=True)

    def on_resize(self) -> None:
        """Two columns need room."""
        wide = self.size.width >= WIDE
        if wide != self.session.diffs.wide:
            self.session.diffs.wide = wide
            self.present(keep_place=True)
        self._present_bars()

    # Moving

    @on(LineView.Moved, "#pairs")
    def _select(self, _event: LineView.Moved) -> None:
        self.present()

    @on(LineView.Chosen)
    def _choose(self, _event: LineView.Chosen) -> None:
        self.open_close()

    def next_difference(self) -> None:
        """To the next pair that differs."""
        self._go(1)

    def previous_difference(self) -> None:
        """To the previous pair that differs."""
        self._go(-1)

    def _go(self, direction: int) -> None:
        place = self.compared.next_place(self._pairs.cursor, direction) if self.compared is not None else None
        if place is None:
            self.say(f"no {'further' if direction > 0 else 'earlier'} difference")
        else:
            self._pairs.move_cursor(place)

    def focus_answers(self) -> None:
        """To the six answers."""
        self._answers.focus()

    def switch_focus(self) -> None:
        """From pairs to detail and back; from the answers to the pairs."""
        if self._answers.has_focus:
            self._pairs.focus()
        else:
            super().switch_focus()

    def toggle_zoom(self) -> None:
        """Give the pairs or the detail the whole screen, or share it again."""
        if self._answers.has_focus:
            self._pairs.focus()
        super().toggle_zoom()
        self._answers.display = not self.has_class("-zoomed")

    def open_close(self) -> None:
        """From an answer to its evidence; from a pair to the detail; there, open or close."""
        if not self._answers.has_focus:
            super().open_close()
        elif self._answers.place is None:
            self.say("this answer names no step")
        else:
            self._pairs.focus()
            self._pairs.move_cursor(self._answers.place)

    def cycle_view(self) -> None:
        """The next layout of differences."""
        self.session.diffs.cycle_view()
        self.present(keep_place=True)
        self.say(self.session.message)

    # Leaving

    def open_first(self) -> None:
        """The first run in the debugger, at this step."""
        self._open(0)

    def open_second(self) -> None:
        """The second run in the debugger, at this step."""
        self._open(1)

    def _open(self, side: int) -> None:
        if self.compared is None or self._pairs.cursor >= len(self.compared.pairs):
            return
        step = self.compared.steps_at(self._pairs.cursor)[side]
        ids = (self.session.summary.run_id, self.compared.other_id)
        if step is None:
            self.say(f"{ids[side]} has no such step")
        elif side == 0 and self._against is None:
            self.session.goto(step.n - 1)
            self.app.pop_screen()
        else:
            problem = self.debugger.open_run(ids[side], step.n, ids[1 - side])
            self.say(problem, Tone.WARN)

    def back(self) -> None:
        """Leave; the debugger that is underneath goes to the same step."""
        if self.has_class("-zoomed"):
            self.toggle_zoom()
            return
        if self._against is None and self.compared is not None:
            step = self.compared.steps_at(self._pairs.cursor)[0]
            if step is not None:
                self.session.goto(step.n - 1)
        super().back()
