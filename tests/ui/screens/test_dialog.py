"""Dialogs under quick fingers."""

from __future__ import annotations

import pytest

from tests.support.refund_run import refund_run
from tests.support.screens import app_on, settle


@pytest.mark.parametrize("opening", ["y", "question_mark", "colon"])
async def test_keys_pressed_before_a_dialog_is_there_do_no_harm(opening: str) -> None:
    app = app_on(refund_run())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for keys in (
            (opening, "escape"),
            (opening, "escape", "escape"),
            (opening, "down", "enter"),
            (opening, "q", "y"),
        ):
            await pilot.press(*keys)
            await settle(pilot)
            while len(app.screen_stack) > 2:
                await pilot.press("escape")
                await settle(pilot)


@pytest.mark.parametrize("opening", ["y", "question_mark", "colon", "slash", "f", "equals_sign", "semicolon"])
async def test_ctrl_q_quits_from_everywhere(opening: str) -> None:
    app = app_on(refund_run())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(opening)
        await settle(pilot)
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert not app.is_running or app._exit
