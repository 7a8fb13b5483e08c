"""What both main screens have in common: actions from the table, row movement, prompt, messages, help."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.screen import Screen
from textual.timer import Timer

from agentdbg.debugging.actions import Action, Place, actions_of
from agentdbg.debugging.document import Tone
from agentdbg.i18n.catalogue import message
from agentdbg.i18n.phrases import phrase
from agentdbg.ui.keymap import shown_key
from agentdbg.ui.widgets.bars import KeyBar
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from agentdbg.ui.app import AgentDbg

SAYING_SECONDS = 4.0


class ActionScreen(Screen[None], inherit_bindings=False):
    """A screen whose keys, palette and help all run the action table."""

    PLACE: ClassVar[Place]
    AUTO_FOCUS: ClassVar[str | None] = None

    def __init__(self) -> None:
        """Resolve every action of this place to the method that does it."""
        super().__init__()
        self._saying: Timer | None = None
        self._methods: dict[str, Callable[[], object]] = {
            action.id: self._method_of(action) for action in actions_of(self.PLACE)
        }

    @property
    def debugger(self) -> AgentDbg:
        """The app."""
        return cast("AgentDbg", self.app)

    @property
    def lines(self) -> LineView:
        """The list that row movements are for."""
        raise NotImplementedError

    def _method_of(self, action: Action) -> Callable[[], object]:
        return cast("Callable[[], object]", getattr(self, action.method))

    def perform(self, action_id: str) -> None:
        """Do an action of the table: the one way for keys, mouse, help and palette."""
        self.say("")
        self._methods[action_id]()

    def action_perform(self, action_id: str) -> None:
        """Do what a key is bound to."""
        self.perform(action_id)

    def say(self, text: str, tone: Tone = Tone.ACCENT) -> None:
        """Tell the user something, for a few seconds."""
        if self._saying is not None:
            self._saying.stop()
            self._saying = None
        bar = self.query_one(KeyBar)
        bar.say(phrase(text), tone)
        if text:
            self._saying = self.set_timer(SAYING_SECONDS, lambda: bar.say(""))

    def show_keys(self) -> None:
        """Fill the footer from the table."""
        keymap, bar = self.debugger.keymap, self.query_one(KeyBar)
        if self.query_one(Prompt).is_open:
            bar.show_keys([("", "enter", phrase("ok")), ("back", "esc", phrase("cancel"))], always=0)
            return
        bar.show_keys(
            (action.id, shown_key(keymap.keys[action.id][0]), phrase(action.label))
            for action in actions_of(self.PLACE)
            if action.label and keymap.keys[action.id] and self.offers(action.id)
        )

    def offers(self, action_id: str) -> bool:
        """Whether an action does something as things stand: else the footer leaves it out."""
        return True

    @on(Prompt.Toggled)
    def _name_keys(self) -> None:
        self.show_keys()

    @on(KeyBar.Picked)
    def _perform_clicked(self, event: KeyBar.Picked) -> None:
        if event.action_id:
            self.perform(event.action_id)

    # Actions that all screens have

    def row_down(self) -> None:
        """Next row."""
        self.lines.move_cursor(self.lines.cursor + 1)

    def row_up(self) -> None:
        """Previous row."""
        self.lines.move_cursor(self.lines.cursor - 1)

    def pan_left(self) -> None:
        """Show what lies further left."""
        self.lines.move_pan(-1)

    def pan_right(self) -> None:
        """Show what lies further right."""
        self.lines.move_pan(1)

    def first_row(self) -> None:
        """First row."""
        self.lines.move_cursor(0)

    def last_row(self) -> None:
        """Last row."""
        self.lines.move_cursor(self.lines.line_count() - 1)

    def page_down(self) -> None:
        """A page down."""
        self.lines.move_page(1)

    def page_up(self) -> None:
        """A page up."""
        self.lines.move_page(-1)

    def half_down(self) -> None:
        """Half a page down."""
        self.lines.move_page(0.5)

    def half_up(self) -> None:
        """Half a page up."""
        self.lines.move_page(-0.5)

    def open_help(self) -> None:
        """All keys, filtered as the user types."""
        self._open_commands("Keys")

    def open_palette(self) -> None:
        """All commands, filtered as the user types."""
        self._open_commands("Commands")

    def _open_commands(self, title: str) -> None:
        from agentdbg.ui.screens.help import HelpScreen

        screen = HelpScreen(title, self.PLACE, self.debugger.keymap)
        self.app.push_screen(screen, lambda action_id: self.perform(action_id) if action_id else None)

    def back(self) -> None:
        """Close what is open, else leave the screen; at the root: quit."""
        prompt = self.query_one(Prompt)
        if prompt.is_open:
            self.close_prompt()
        elif self.debugger.is_root(self):
            self.app.exit()
        else:
            self.app.pop_screen()

    def close_prompt(self) -> None:
        """Hide the prompt and give the focus back."""
        self.query_one(Prompt).close()
        self.lines.focus()

    def interrupt(self) -> None:
        """A habit of terminals: say what does it here."""
        self.say(self._ways_out())

    def _ways_out(self) -> str:
        return message("keys.ways_out", back=self.key_of("back"), quit=self.key_of("quit"))

    def key_of(self, action_id: str) -> str:
        """The key of an action, as it is shown."""
        keys = self.debugger.keymap.keys[action_id]
        return shown_key(keys[0]) if keys else "–"

    def quit(self) -> None:
        """Leave the program."""
        self.app.exit()
