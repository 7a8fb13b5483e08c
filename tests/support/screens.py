"""Drives the app without a terminal, and reads what its screens show."""

from __future__ import annotations

from textual.pilot import Pilot
from textual.strip import Strip

from agentdbg.store.protocols import RunSource
from agentdbg.ui.app import AgentDbg
from tests.support.memory_source import MemoryStore
from tests.support.refund_run import refund_store

INCIDENT = "2026-01-01-T2041-7f3a"


def app_on(source: RunSource | None = None, **options: object) -> AgentDbg:
    """The app with the debugger open on a run: the incident by default."""
    if source is None:
        return AgentDbg(refund_store(), INCIDENT, animated=False, **options)  # type: ignore[arg-type]
    run_id = source.summary().run_id
    return AgentDbg(MemoryStore({run_id: source}), run_id, animated=False, **options)  # type: ignore[arg-type]


def app_on_runs(store: MemoryStore | None = None, **options: object) -> AgentDbg:
    """The app with the run list."""
    return AgentDbg(store or refund_store(), None, animated=False, **options)  # type: ignore[arg-type]


def frame(app: AgentDbg) -> list[str]:
    """The lines of the screen as text."""
    strips: list[Strip] = app.screen._compositor.render_strips()
    return [strip.text for strip in strips]


def shown(app: AgentDbg) -> str:
    """The screen as text."""
    return "\n".join(frame(app))


def rendered(app: AgentDbg) -> str:
    """The screen as it is written to the terminal."""
    return "".join(strip.render(app.console) for strip in app.screen._compositor.render_strips())


async def settle(pilot: Pilot[None]) -> None:
    """Wait for workers and what they post."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
