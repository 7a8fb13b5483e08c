"""The refund incident by hand: reproduced, mended, tried again, compared; a person is asked, and no money moves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agentdbg.demo import desk, refund_desk
from agentdbg.demo.server import DemoServer
from agentdbg.store.address import open_store
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.plan import PlanScreen
from agentdbg.ui.screens.replay import ReplayScreen
from agentdbg.ui.screens.side import SideScreen
from tests.support.screens import settle, shown

SRC = Path(refund_desk.__file__).resolve().parents[2]
BEFORE = "    shown: dict[str, Json] = {}\n"
MENDED = BEFORE + '    mapping = {**mapping, "requires_manual_approval": "approval.manual"}\n'


@dataclass
class Incident:
    """The desk as a program of its own, recorded once, in a store of its own."""

    place: Path
    program: Path
    server: DemoServer

    def app(self) -> AgentDbg:
        return AgentDbg(open_store(str(self.place / ".agentdbg")), "incident", step=14, animated=False)

    def refunds(self) -> int:
        return desk.refund_count(str(self.place / "desk"))


@pytest.fixture
def incident(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Incident]:
    program = tmp_path / "refund_program.py"
    program.write_text(Path(refund_desk.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with DemoServer() as server:
        environment = {"AGENTDBG_STORE": str(tmp_path / ".agentdbg"), "AGENTDBG_RUN_ID": "incident"}
        done = subprocess.run(
            [sys.executable, str(program), "--base-url", server.url, "--desk", str(tmp_path / "desk")],
            cwd=tmp_path,
            env={**os.environ, **environment, "PYTHONPATH": str(SRC)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.stdout.startswith("AUTO_EXECUTE"), done.stderr
        yield Incident(tmp_path, program, server)


async def until(pilot: Pilot[None], wanted: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not wanted():
        assert time.monotonic() < deadline, shown(pilot.app)  # type: ignore[arg-type]
        await pilot.pause(0.02)


async def plan(pilot: Pilot[None]) -> PlanScreen:
    screen = pilot.app.screen
    await until(pilot, lambda: isinstance(pilot.app.screen, PlanScreen) and pilot.app.screen._dialog.plan is not None)
    screen = pilot.app.screen
    assert isinstance(screen, PlanScreen)
    return screen


async def choose(pilot: Pilot[None], key: str, *, times: int = 1) -> None:
    screen = await plan(pilot)
    rows = [each.key for each in screen._dialog.choices]
    await pilot.press("g", *["j"] * rows.index(key), *["l"] * times)
    await plan(pilot)


async def over(pilot: Pilot[None]) -> ReplayScreen:
    await until(pilot, lambda: isinstance(pilot.app.screen, ReplayScreen) and pilot.app.screen.live.state == "over")
    screen = pilot.app.screen
    assert isinstance(screen, ReplayScreen)
    await until(pilot, lambda: "verdict" in shown(pilot.app))  # type: ignore[arg-type]
    return screen


@pytest.mark.wide
async def test_the_incident_by_hand(incident: Incident) -> None:
    app = incident.app()
    asked = incident.server.calls
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        await pilot.press("r")
        await choose(pilot, "guard")
        await choose(pilot, "start")
        await pilot.press("enter")
        await over(pilot)
        text = shown(app)
        assert "✓ identical" in text and "AUTO_EXECUTE" in text and "11 of 11 served" in text
        assert (incident.server.calls, incident.refunds()) == (asked, 1)

        source = incident.program.read_text(encoding="utf-8")
        incident.program.write_text(source.replace(BEFORE, MENDED), encoding="utf-8")
        await pilot.press("r")
        await choose(pilot, "mode")
        assert "execute_refund" in shown(app) and "not as recorded" in shown(app)
        await pilot.press("enter")
        await until(pilot, lambda: "asks you" in shown(app))
        await pilot.press("enter", *"yes", "enter")  # stray keys answer nothing
        assert "asks you" in shown(app)
        await pilot.press("a")
        await until(pilot, lambda: "nobody decides)" in shown(app))
        await pilot.press("escape", "a", "enter")
        await over(pilot)
        text = shown(app)
        assert "≠ changed" in text and "WAITING_HUMAN_APPROVAL" in text and "≈ dry run" in text
        assert incident.refunds() == 1 and incident.server.calls == asked + 2

        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SideScreen) and app.screen.compared is not None)
        await settle(pilot)
        side = app.screen
        assert isinstance(side, SideScreen) and side.compared is not None
        step = side.compared.steps_at(side.lines.cursor)[0]
        assert step is not None and step.name == "read"
        assert "requires_manual_approval" in shown(app)
