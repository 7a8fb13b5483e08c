"""The run on one line, as a widget."""

from __future__ import annotations

from agentdbg.ui.widgets.scrubber import Scrubber
from tests.support.memory_source import run_of
from tests.support.screens import app_on, frame


async def test_landmarks_are_shown_and_a_click_jumps() -> None:
    app = app_on(step=1)
    async with app.run_test(size=(120, 40)) as pilot:
        line = next(line for line in frame(app) if "┃" in line)
        assert [line.index(sign) for sign in "┃◆▲✗▴"] == sorted(line.index(sign) for sign in "┃◆▲✗▴")
        await pilot.click(Scrubber, offset=(line.index("✗"), 0))
        assert "step 14/17" in frame(app)[0]


async def test_an_empty_run_has_an_empty_line() -> None:
    app = app_on(run_of([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click(Scrubber, offset=(5, 0))
        assert "no step yet" in frame(app)[0]
