"""The app opens at the scene, at a step, or on the run list, and never crashes over one run."""

from __future__ import annotations

import pytest

from agentdbg.model.records import RunStatus
from agentdbg.ui.app import AgentDbg
from agentdbg.ui.screens.debugger import DebuggerScreen
from agentdbg.ui.screens.runs import RunsScreen
from tests.support.refund_run import refund_run, refund_store
from tests.support.screens import INCIDENT, app_on, app_on_runs, settle, shown


async def test_it_opens_at_the_scene() -> None:
    app = app_on()
    async with app.run_test(size=(120, 40)):
        assert "step 14/17  tool notify_customer  ✗ error" in shown(app)
        assert "mail relay refused: 421 try again later" in shown(app)


async def test_it_opens_at_a_step() -> None:
    app = app_on(step=3)
    async with app.run_test(size=(120, 40)):
        assert "step 3/17" in shown(app)
        assert "Plan: read the order, then the policy, then decide." in shown(app)


async def test_a_running_run_is_followed_by_itself_unless_a_step_is_named() -> None:
    app = app_on(refund_run(status=RunStatus.RUNNING, crash=True))
    async with app.run_test(size=(120, 40)):
        assert "step 13/13" in shown(app)
        assert "▼ following" in shown(app)
    app = app_on(refund_run(status=RunStatus.RUNNING, crash=True), step=2)
    async with app.run_test(size=(120, 40)):
        assert "step 2/13" in shown(app)
        assert "not following" in shown(app)


async def test_a_run_that_is_not_there_is_a_banner_over_the_list() -> None:
    app = AgentDbg(refund_store(), "no-such-run", animated=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, RunsScreen)
        assert "no-such-run" in shown(app)
        assert "3 runs" in shown(app)


async def test_a_run_that_breaks_while_opening_is_a_banner_and_the_others_stay() -> None:
    store = refund_store()
    store.broken[INCIDENT] = RuntimeError("torn \x1b[2J in half")
    app = app_on_runs(store)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("j", "enter")
        assert "torn ␛[2J in half" in shown(app)
        await pilot.press("j", "enter")
        assert isinstance(app.screen, DebuggerScreen)


async def test_q_goes_back_and_leaves_at_the_root() -> None:
    app = app_on_runs()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        opened = type(app.screen)
        await pilot.press("q")
        assert (opened, type(app.screen)) == (DebuggerScreen, RunsScreen)
        await pilot.press("q")
    assert app.return_code == 0


@pytest.mark.parametrize("wanted", ["light", "agentdbg-light"])
async def test_a_theme_is_chosen_by_name(wanted: str) -> None:
    app = app_on(theme=wanted)
    async with app.run_test():
        assert app.theme == "agentdbg-light"


async def test_an_unknown_theme_and_bad_keys_are_told_and_do_no_harm() -> None:
    app = app_on(theme="no-such")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "no theme no-such" in shown(app)
    app = app_on(keys={"zoom": "ctrl+h"})
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "ctrl+h cannot be used" in shown(app)


async def test_keys_of_the_user_count() -> None:
    app = app_on(keys={"step.over": "x"})
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("x")
        assert "step 15/17" in shown(app)
        await pilot.press("n")
        assert "step 15/17" in shown(app)
        assert " x next" in shown(app)


async def test_no_color_leaves_words_and_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_on()
    async with app.run_test(size=(120, 40)):
        assert app.no_color
        colours = {part.style.color for strip in app.screen._compositor.render_strips() for part in strip if part.style}
        triplets = [colour.triplet for colour in colours if colour is not None and colour.triplet is not None]
        assert triplets and all(max(triplet) - min(triplet) <= 1 for triplet in triplets)
        for words in ("✗ error", "◆ approval", "! unsafe", "○ hole", "› "):
            assert words in shown(app)
