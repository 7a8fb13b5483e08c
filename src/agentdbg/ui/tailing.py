"""Keeps a debugger up to date with a run that grows: wake-ups from the source, and a slow look in any case."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

from textual.timer import Timer

from agentdbg.debugging import marks
from agentdbg.debugging.capabilities import watch_kind
from agentdbg.debugging.document import Tone
from agentdbg.debugging.session import Session
from agentdbg.ui.messages import Woken

if TYPE_CHECKING:
    from agentdbg.ui.screens.debugger import DebuggerScreen

LOOK_SECONDS: Final = 1.0
GATHER_SECONDS: Final = 5.0
"""Pause between two passes over a long run that grows."""
_OFTEN: Final = 20_000
INDEX_SECONDS: Final = 0.02
"""Pause between two pieces of a record that is being read for the first time."""


class Tail:
    """Watches a session's source for a screen. Polls are short by contract, so they happen on the screen's thread."""

    def __init__(self, screen: DebuggerScreen, session: Session) -> None:
        """Prepare; nothing is watched yet."""
        self._screen = screen
        self._session = session
        self._unwatch: Callable[[], None] | None = None
        self._timer: Timer | None = None
        self._next_gather = 0.0

    @property
    def kind(self) -> str:
        """How new events are noticed: ``events`` or ``polling``."""
        return watch_kind(self._session.source)

    def start(self) -> None:
        """Begin, if anything can still come."""
        if self._session.indexing:
            self._timer = self._screen.set_interval(INDEX_SECONDS, self.look)
        elif self._session.live:
            self._unwatch = self._session.source.watch(self._wake)
            self._timer = self._screen.set_interval(LOOK_SECONDS, self.look)

    def stop(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    def look(self) -> None:
        """Take in what is new and show it; the reader's place stays unless they follow."""
        session = self._session
        indexing, cursor = session.indexing, session.cursor
        try:
            changed = session.poll()
        except Exception as problem:  # the run can no longer be read: what was read stays on screen
            self.stop()
            self._screen.say(f"no longer watching: {type(problem).__name__}: {problem}", Tone.WARN)
            return
        if not changed:
            return
        if session.indexing != indexing or not marks.is_live(session.summary):
            self.stop()
            self.start()
        if not session.indexing and (session.count < _OFTEN or not session.live or monotonic() >= self._next_gather):
            self._next_gather = monotonic() + GATHER_SECONDS
            self._screen.gather()
        self._screen.present_news(keep_place=session.cursor == cursor)

    def _wake(self) -> None:
        self._screen.post_message(Woken())
