"""The debugger's app: themes, keys, and which screen is up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentdbg.config.settings import settings
from agentdbg.debugging.document import Tone
from agentdbg.debugging.session import Session
from agentdbg.model.records import RunStatus
from agentdbg.store.address import resolve
from agentdbg.store.protocols import RunSource, RunStore
from agentdbg.ui import guard, tones
from agentdbg.ui.keymap import resolve as resolve_keys
from agentdbg.ui.replaying import end_replays, leave_when_told
from agentdbg.ui.screens.base import ActionScreen
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.text import words_for
from agentdbg.ui.theming import DEFAULT_THEME, load_themes

if TYPE_CHECKING:
    from agentdbg.debugging.replay_wish import Wish


class AgentDbg(guard.GuardedApp, inherit_bindings=False):
    """Shows a store's runs, or one of them."""

    TITLE = "agentdbg"
    CSS_PATH = Path(__file__).with_name("agentdbg.tcss")
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012

    def __init__(
        self,
        store: RunStore,
        address: str | None = None,
        *,
        opener: Callable[[str], RunSource] | None = None,
        against: str | None = None,
        step: int | None = None,
        theme: str | None = None,
        follow: bool = False,
        keys: Mapping[str, str | Sequence[str]] | None = None,
        animated: bool = True,
    ) -> None:
        """Make the app.

        Args:
            store: Where runs live.
            address: Run to open; the run list for ``None``.
            opener: Opens the run at an address; by default only what the store knows is opened.
            against: Run to compare it with from the start; ``@twin`` for the suggested one.
            step: Number of the step to start at, instead of the scene.
            theme: Name of a theme; an unknown one is reported.
            follow: Stay at the tail of the run; a running one is followed by itself, unless a step is named.
            keys: The user's own keys, by action.
            animated: Whether signs beat and lists are read again by themselves.
        """
        super().__init__()
        guard.install()
        self.animation_level = "none"
        self.store = store
        self.animated = animated
        self.keymap = resolve_keys(keys)
        self.problems: list[str] = list(self.keymap.problems)
        self.wishes: dict[str, Wish] = {}
        self._address = address
        self.opener = opener or (lambda named: resolve(store, named))
        self._against = against
        self._step = step
        self._follow = follow
        self._root: ActionScreen | None = None
        self._load_themes(theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our tokens, for themes that do not set them."""
        theme = self.current_theme.to_color_system().generate()
        return {token: theme[base] for token, base in tones.DEFAULTS.items()}

    def on_mount(self) -> None:
        """Put the first screen up."""
        self.set_keymap(self.keymap.changes())
        leave_when_told(self.exit)
        problem = ""
        screen: ActionScreen | None = None
        if self._address is not None:
            try:
                screen = self._debugger_on(self.opener(self._address), self._step, self._against)
            except Exception as error:  # a run that cannot be opened is a banner
                problem = words_for(self._address, error)
        self._root = screen = screen or self._run_list(problem)
        self.push_screen(screen)
        if self.problems:
            self.call_after_refresh(screen.say, self.problems[0], Tone.WARN)

    def open_run(self, run_id: str, step: int | None = None, against: str | None = None) -> str:
        """Open a run of the store; what went wrong, in words, when it cannot be opened."""
        try:
            screen = self._debugger_on(self.store.open(run_id), step, against)
        except Exception as error:  # one bad run must not take the list down
            return words_for(run_id, error)
        self.push_screen(screen)
        return ""

    def open_side(self, run_id: str, against: str, *, address: str = "") -> str:
        """Open two runs side by side, the first by its address if it has one; what went wrong, in words."""
        from agentdbg.ui.screens.side import SideScreen

        try:
            source = self.opener(address) if address else self.store.open(run_id)
            screen = SideScreen(Session(source), against=against)
        except Exception as error:  # one bad run must not take what is shown down
            return words_for(run_id, error)
        self.push_screen(screen)
        return ""

    def flag(self, runs: RunSource | Sequence[str], reason: str) -> tuple[str, Tone]:
        """Flag an open run, or runs of the store by their ids; what became of it, and how to say it."""
        from agentdbg.debugging import flagging  # the redaction rules are not needed to look at runs

        try:
            if isinstance(runs, Sequence):
                return flagging.flag_runs(self.store, runs, reason), Tone.OK
            return flagging.flag_open_run(runs, self.store, reason), Tone.OK
        except (KeyError, OSError, ValueError) as error:
            return f"cannot flag: {error}", Tone.WARN

    def address_of(self, session: Session) -> tuple[str, str]:
        """The address of a session's run, and of the store to look in; empty where the address is enough."""
        run_id = session.summary.run_id
        if getattr(session.source, "notes_location", None) is not None:
            return self._address or run_id, ""
        return run_id, self.store.location()

    def is_root(self, screen: ActionScreen) -> bool:
        """Whether leaving that screen leaves the program."""
        return screen is self._root

    def _debugger_on(self, source: RunSource, step: int | None, against: str | None = None) -> DebuggerScreen:
        running = source.summary().status is RunStatus.RUNNING
        session = Session(source, follow=self._follow or (running and step is None and against is None))
        if step is not None:
            session.goto_number(step)
        return DebuggerScreen(session, against=against)

    @staticmethod
    def _run_list(problem: str) -> ActionScreen:
        from agentdbg.ui.screens.runs import RunsScreen

        return RunsScreen(problem)

    def _load_themes(self, wanted: str | None) -> None:
        loaded = load_themes()
        self.problems.extend(loaded.problems)
        names = [theme.name for theme in loaded.themes]
        for theme in loaded.themes:
            self.register_theme(theme)
        chosen = next((name for name in (wanted, f"agentdbg-{wanted}") if name in names), None)
        if wanted and chosen is None:
            self.problems.append(f"no theme {wanted}; there are {', '.join(names)}")
        if chosen is not None or DEFAULT_THEME in names:
            self.theme = chosen or DEFAULT_THEME


def run_app(
    store: RunStore,
    address: str | None,
    *,
    opener: Callable[[str], RunSource] | None = None,
    against: str | None = None,
    step: int | None = None,
    theme: str | None = None,
    follow: bool = False,
) -> None:
    """Run the debugger until the user leaves it.

    Args:
        store: Where runs live.
        address: Run to open at the scene; the run list for ``None``.
        opener: Opens the run at an address.
        against: Run to compare it with.
        step: Number of the step to start at instead.
        theme: Name of a theme; the configured or the default one for ``None``.
        follow: Stay at the tail of the run.
    """
    configured = settings()
    chosen = theme or configured.text("theme")
    keys = configured.table("keys")
    app = AgentDbg(store, address, opener=opener, against=against, step=step, theme=chosen, follow=follow, keys=keys)
    try:
        app.run()
    finally:
        end_replays()
