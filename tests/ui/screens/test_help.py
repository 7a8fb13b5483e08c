"""Help and palette come from the action table and run its entries."""

from __future__ import annotations

from agentdbg.debugging.actions import Place, actions_of
from agentdbg.ui.screens.help import ActionList, HelpScreen
from tests.support.screens import app_on, app_on_runs, settle, shown


async def test_every_action_and_every_key_is_in_the_help() -> None:
    app = app_on()
    async with app.run_test(size=(120, 90)) as pilot:
        await pilot.press("question_mark")
        listed = app.screen.query_one(ActionList)
        actions = [row for row in listed._rows if not isinstance(row, str)]
        assert actions == list(actions_of(Place.DEBUGGER))
        text = "\n".join("".join(s.text for s in listed.draw(i, listed.palette)) for i in range(listed.line_count()))
        for entry in actions:
            assert entry.help in text
            assert app.keymap.shown(entry) in text


async def test_it_filters_as_typed_and_enter_runs_the_entry() -> None:
    app = app_on(step=1)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark", *"next error")
        assert "bookmark" not in shown(app)
        await pilot.press("enter")
        assert "step 14/17" in shown(app)


async def test_arrows_move_while_typing_and_esc_closes() -> None:
    app = app_on(step=1)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("colon", "down", "down", "down", "up")
        assert app.screen.query_one(ActionList).selected is actions_of(Place.DEBUGGER)[2]
        await pilot.press("pagedown", "pageup", "up", "escape")
        assert not isinstance(app.screen, HelpScreen)


async def test_nothing_found_runs_nothing() -> None:
    app = app_on()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1", *"zzzz", "enter")
        assert isinstance(app.screen, HelpScreen)


async def test_the_run_list_has_its_own_help() -> None:
    app = app_on_runs()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p")
        assert "open the run" in shown(app)
        assert "next step" not in shown(app)
        await pilot.click(ActionList, offset=(5, 1), times=2)
        assert not isinstance(app.screen, HelpScreen)
