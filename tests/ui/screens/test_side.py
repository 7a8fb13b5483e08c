"""Two runs side by side, driven as a user does."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from agentdbg.model.records import RunStatus
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.screens.runs import RunsScreen
from agentdbg.ui.screens.side import SideScreen
from tests.support.memory_source import MemoryStore, run_of
from tests.support.refund_run import TWIN, refund_run, twin_run
from tests.support.screens import INCIDENT, app_beside_twin, app_on_runs, settle, shown

SIZES = [(80, 24), (120, 40), (200, 60)]


def store() -> MemoryStore:
    return MemoryStore({source.run.run_id: source for source in (refund_run(), twin_run())})


async def open_from_list(pilot: Pilot[None]) -> SideScreen:
    await settle(pilot)
    await pilot.press("space", "space", "v")
    await settle(pilot)
    assert isinstance(pilot.app.screen, SideScreen)
    return pilot.app.screen


@pytest.mark.parametrize("size", SIZES)
async def test_two_selected_runs_open_at_their_first_difference(size: tuple[int, int]) -> None:
    app = app_on_runs(store())
    async with app.run_test(size=size) as pilot:
        await open_from_list(pilot)
        assert "≠ result" in shown(app)
        assert "requires_manual_approval" in shown(app)
        assert "tool arguments" in shown(app) and " no " in shown(app)


async def test_the_first_difference_can_be_reached_with_one_key_from_the_debugger() -> None:
    app = app_beside_twin()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("vertical_line")
        await settle(pilot)
        assert isinstance(app.screen, SideScreen)
        await pilot.press("d")
        await settle(pilot)
        assert "segments are the same" in shown(app)
        await pilot.press("q")
        assert isinstance(app.screen, DebuggerScreen)
        assert "step 10/17" in shown(app)


async def test_an_answer_leads_to_its_evidence() -> None:
    app = app_on_runs(store())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_from_list(pilot)
        await pilot.press("g", "a", "down", "down", "down", "enter")
        await settle(pilot)
        assert screen.compared is not None
        step = screen.compared.steps_at(screen.lines.cursor)[0]
        assert step is not None
        assert step.name == "policy_lookup"


async def test_a_row_opens_in_the_detail() -> None:
    app = app_on_runs(store())
    async with app.run_test(size=(120, 60)) as pilot:
        await open_from_list(pilot)
        await pilot.press("d")
        await settle(pilot)
        assert "▸ = " in shown(app)
        await pilot.press("enter", "down", "down", "enter")
        await settle(pilot)
        assert "tool_schema" in shown(app)


@pytest.mark.parametrize(("key", "run_id"), [("1", INCIDENT), ("2", TWIN)])
async def test_either_run_opens_at_the_step(key: str, run_id: str) -> None:
    app = app_on_runs(store())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_from_list(pilot)
        order = (screen.session.summary.run_id, screen.compared.other_id if screen.compared else "")
        await pilot.press("1" if order[0] == run_id else "2")
        await settle(pilot)
        assert isinstance(app.screen, DebuggerScreen)
        assert app.screen.session.summary.run_id == run_id
        assert "step 8/17" in shown(app)
        await pilot.press("q", "q")
        assert type(app.screen).__name__ == RunsScreen.__name__


async def test_one_run_alone_is_compared_with_its_twin() -> None:
    app = app_on_runs(store())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("v")
        await settle(pilot)
        assert TWIN in shown(app)


async def test_zoom_layout_and_tab_do_not_lose_the_way() -> None:
    app = app_on_runs(store())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_from_list(pilot)
        for key in ("z", "z", "tab", "z", "tab", "q", "a", "z", "q", "v", "v", "v", "tab", "tab", "D", "N", "g", "G"):
            await pilot.press(key)
            assert isinstance(app.screen, SideScreen), key
            assert shown(app).strip()


@pytest.mark.parametrize(
    "other",
    [run_of((), run_id=TWIN), refund_run(TWIN, status=RunStatus.RUNNING, crash=True), refund_run(TWIN)],
    ids=["empty", "running", "equal"],
)
async def test_whatever_is_compared_the_screen_stands(other: object) -> None:
    app: AgentDbg = app_on_runs(MemoryStore({INCIDENT: refund_run(), TWIN: other}))  # type: ignore[dict-item]
    async with app.run_test(size=(120, 40)) as pilot:
        await open_from_list(pilot)
        await pilot.press("d", "D", "a", "enter", "1", "q", "2", "q")
        await settle(pilot)
        assert shown(app).strip()
