"""Shortcuts through Textual's internals do what the public way does."""

from __future__ import annotations

from textual.geometry import Size

from agentdbg.ui.internals import set_virtual_size
from tests.support.screens import app_on


async def test_the_content_is_as_big_as_said_and_can_be_scrolled_to_its_end() -> None:
    app = app_on()
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.screen.query_one("#steps")
        set_virtual_size(view, Size(10, 500))  # type: ignore[arg-type]
        await pilot.pause()
        assert view.virtual_size == Size(10, 500)
        assert view.max_scroll_y == 500 - view.size.height
        assert view.vertical_scrollbar.window_virtual_size == 500
