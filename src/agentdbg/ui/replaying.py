"""Opens the replay dialog from a screen, and ends replays with the last one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

from agentdbg.ui.lending import forget_all, take_back

if TYPE_CHECKING:
    from agentdbg.debugging.replay_dialog import ReplayDialog
    from agentdbg.ui.app import AgentDbg
    from agentdbg.ui.screens.debugger import DebuggerScreen


PATIENCE_S = 10.0


def dialog_for(app: AgentDbg, address: str, step: int) -> ReplayDialog | str:
    """A dialog about the run at an address, which it closes; why there cannot be one, in words, when there cannot."""
    from agentdbg.debugging.replay_dialog import NOT_OURS, ReplayDialog
    from agentdbg.store.reader import DirectoryRunSource

    try:
        own = app.opener(address)
    except Exception as problem:  # it was there a moment ago
        return f"cannot be opened again: {problem}"
    if not isinstance(own, DirectoryRunSource):
        own.close()
        return NOT_OURS
    return ReplayDialog(own, app.store, step, wish=app.wishes.get(own.summary().run_id), opener=app.opener)


def open_dialog(screen: DebuggerScreen, *, edit: bool = False) -> str:
    """Ask how to replay a screen's run; why that cannot be, in words, when it cannot."""
    from agentdbg.debugging.replay_dialog import NOT_OURS
    from agentdbg.store.reader import DirectoryRunSource
    from agentdbg.ui.screens.plan import PlanScreen

    session = screen.session
    if not isinstance(session.source, DirectoryRunSource):
        return NOT_OURS
    if session.live:
        return "this run is still going on: it can be replayed when it has ended"
    step = session.current.n if session.current is not None else 1
    dialog = dialog_for(screen.debugger, str(session.source.root), step)
    if isinstance(dialog, str):
        return dialog
    if edit:  # what would follow from another value: an exact replay has no answers to that
        dialog.wish = dialog.wish.having("mode", "regression")
    screen.app.push_screen(PlanScreen(dialog, edit=edit))
    return ""


def end_replays(seconds: float = 0.0) -> None:
    """End what still runs, however the screen was left; wait so long until it is kept."""
    session = sys.modules.get("agentdbg.replay.session")
    if session is not None:
        session.abort_all(seconds)


def leave_when_told(leave: Callable[[], object]) -> None:
    """The request to end leaves as the user does; a closed terminal ends all: what runs is kept.

    Args:
        leave: Leaves the app; called in its event loop.
    """
    loop = asyncio.get_running_loop()

    def told(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(leave)
        take_back()

    with suppress(RuntimeError, ValueError):  # another thread or system
        signal.signal(signal.SIGTERM, told)
    _end_with_terminal()


def _end_with_terminal() -> None:
    """When the terminal is closed, end replays and keep what there is of them; nothing can be drawn any more."""
    if not hasattr(signal, "SIGHUP"):
        return
    before = signal.getsignal(signal.SIGHUP)

    def closed(number: int, frame: FrameType | None) -> None:
        forget_all()
        end_replays(PATIENCE_S)
        if callable(before):
            before(number, frame)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    if before is not signal.SIG_IGN:
        with suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGHUP, closed)
