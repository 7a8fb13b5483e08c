"""Drives the app without a terminal, and reads what its screens show."""

from __future__ import annotations

from contextlib import suppress

from textual.pilot import Pilot
from textual.strip import Strip
from textual.worker import WorkerCancelled

from agentdbg.store.protocols import RunSource
from agentdbg.ui.app import AgentDbg
from tests.support.memory_source import MemoryStore
from tests.support.refund_run import refund_run, refund_store, twin_run

INCIDENT = "2026-01-01-T2041-7f3a"


def app_on(source: RunSource | None = None, **options: object) -> AgentDbg:
    """The app with the debugger open on a run: the incident by default."""
    if source is None:
        return AgentDbg(refund_store(), INCIDENT, animated=False, **options)  # type: ignore[arg-type]
    run_id = source.summary().run_id
    return AgentDbg(MemoryStore({run_id: source}), run_id, animated=False, **options)  # type: ignore[arg-type]


def app_beside_twin(**options: object) -> AgentDbg:
    """The app with the incident beside its twin."""
    store = MemoryStore({source.run.run_id: source for source in (refund_run(), twin_run())})
    options.setdefault("against", "@twin")
    return AgentDbg(store, INCIDENT, animated=False, **options)  # type: ignore[arg-type]


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
    """Wait for workers, what they post, and the workers that this starts."""
    for _ in range(50):
        await pilot.pause()
        running = [worker for worker in pilot.app.workers if not worker.is_finished]
        if not running:
            return
        for worker in running:
            with suppress(WorkerCancelled):
                await worker.wait()
    raise AssertionError("the workers find no end")
