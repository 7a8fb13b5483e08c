"""What both screens share: movement, messages that go away, the footer."""

from __future__ import annotations

import pytest

from agentdbg.debugging.actions import Place, actions_of
from agentdbg.ui.screens.base import ActionScreen
from agentdbg.ui.widgets.bars import KeyBar
from tests.support.screens import app_beside_twin, app_on, app_on_runs, settle, shown


async def test_what_is_said_goes_with_the_next_key() -> None:
    app = app_on()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("C")
        assert "no earlier bookmark, breakpoint or divergence" in shown(app)
        await pilot.press("down")
        assert "no earlier" not in shown(app)
        assert "n next" in shown(app)


async def test_what_is_said_goes_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentdbg.ui.screens.base.SAYING_SECONDS", 0.05)
    app = app_on()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("C")
        for _ in range(50):
            await pilot.pause(0.02)
            if not app.screen.query_one(KeyBar).saying:
                break
        assert app.screen.query_one(KeyBar).saying == ""


async def test_rows_pages_and_ends_in_the_detail_pane() -> None:
    app = app_on(step=3)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("7", "tab")
        screen = app.screen
        assert isinstance(screen, ActionScreen)
        cursors = []
        for key in ("j", "k", "ctrl+d", "ctrl+u", "space", "b", "pagedown", "G", "g"):
            await pilot.press(key)
            cursors.append(screen.lines.cursor)
        last = screen.lines.line_count() - 1
        assert cursors[:2] == [1, 0]
        assert cursors[2] > 1
        assert cursors[3] == 0
        assert cursors[5] == 0
        assert cursors[-2:] == [last, 0]


@pytest.mark.parametrize("place", [Place.RUNS, Place.DEBUGGER, Place.SIDE])
async def test_every_action_can_be_performed_by_name(place: Place) -> None:
    app = app_on() if place is Place.DEBUGGER else app_on_runs() if place is Place.RUNS else app_beside_twin()
    away = ("quit", "back", "help", "palette", "run.open", "editor", "side.first", "side.second", "side.runs", "copy")
    asks = ("search", "flag", "run.filter", "filter", "compare", "note")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        if place is Place.SIDE:
            await pilot.press("vertical_line")
        screen = app.screen
        assert isinstance(screen, ActionScreen)
        assert place is screen.PLACE
        for action in actions_of(place):
            if action.id not in away:
                screen.perform(action.id)
                await pilot.press("escape") if action.id in asks else await pilot.pause()
        assert app.screen is screen
