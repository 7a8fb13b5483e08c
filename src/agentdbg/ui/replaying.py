"""Opens the replay dialog from a screen, and ends replays with the last one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentdbg.ui.screens.debugger import DebuggerScreen


def open_dialog(screen: DebuggerScreen, *, edit: bool = False) -> str:
    """Ask how to replay a screen's run; why that cannot be, in words, when it cannot."""
    from agentdbg.debugging.replay_wish import NOT_OURS, ReplayDialog
    from agentdbg.store.reader import DirectoryRunSource
    from agentdbg.ui.screens.plan import PlanScreen

    session = screen.session
    if not isinstance(session.source, DirectoryRunSource):
        return NOT_OURS
    if session.live:
        return "this run is still going on: it can be replayed when it has ended"
    try:
        own = screen.debugger.opener(str(session.source.root))
    except Exception as problem:  # it was there a moment ago
        return f"cannot be opened again: {problem}"
    if not isinstance(own, DirectoryRunSource):
        own.close()
        return NOT_OURS
    step = session.current.n if session.current is not None else 1
    screen.app.push_screen(PlanScreen(ReplayDialog(own, screen.debugger.store, step), edit=edit))
    return ""


def end_replays() -> None:
    """End what still runs, however the screen was left."""
    session = sys.modules.get("agentdbg.replay.session")
    if session is not None:
        session.abort_all()
