"""The line widget draws what is seen and no more."""

from __future__ import annotations

from rich.segment import Segment
from textual.app import App, ComposeResult

from agentdbg.ui.text import Palette
from agentdbg.ui.widgets.lines import LineView


class Numbers(LineView):
    """Lines that count how often they are drawn."""

    def __init__(self, count: int) -> None:
        super().__init__(id="numbers")
        self.count = count
        self.drawn: list[int] = []

    def line_count(self) -> int:
        return self.count

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        self.drawn.append(index)
        return [Segment("line " * 1)] if self.count else []


class NumbersApp(App[None]):
    """One list on a screen."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.animation_level = "none"
        self.numbers = Numbers(count)
        self.told: list[tuple[str, int]] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"cursor-row": "#333333", "cursor-row-blurred": "#222222"}

    def compose(self) -> ComposeResult:
        yield self.numbers

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        assert event.control is self.numbers
        self.told.append(("moved", event.index))

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        self.told.append(("chosen", event.index))


async def test_a_million_lines_cost_a_screenful() -> None:
    app = NumbersApp(1_000_000)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert len(set(app.numbers.drawn)) <= 24
        app.numbers.drawn.clear()
        app.numbers.move_cursor(999_999)
        await pilot.pause()
        assert set(app.numbers.drawn) <= {0, *range(999_970, 1_000_000)}


async def test_moving_within_the_screen_draws_two_lines() -> None:
    app = NumbersApp(100)
    async with app.run_test(size=(80, 24)) as pilot:
        app.numbers.focus()
        await pilot.pause()
        app.numbers.drawn.clear()
        app.numbers.move_cursor(5)
        await pilot.pause()
        assert sorted(set(app.numbers.drawn)) == [0, 5]
        app.numbers.drawn.clear()
        app.numbers.move_cursor(0)
        app.numbers.move_cursor(5)
        await pilot.pause()
        assert app.numbers.drawn == []


async def test_pages_move_view_and_cursor_together_and_stop_at_the_ends() -> None:
    app = NumbersApp(100)
    async with app.run_test(size=(80, 24)) as pilot:
        numbers = app.numbers
        numbers.move_page(1)
        await pilot.pause()
        assert (numbers.cursor, numbers.scroll_offset.y) == (24, 24)
        numbers.move_page(-0.5)
        numbers.move_page(9)
        await pilot.pause()
        assert numbers.cursor == 99
        numbers.move_page(-99)
        assert numbers.cursor == 0
        await pilot.pause()
        assert app.told == [("moved", 24), ("moved", 12), ("moved", 99), ("moved", 0)]


async def test_the_mouse_moves_and_a_second_click_chooses() -> None:
    app = NumbersApp(100)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#numbers", offset=(1, 3))
        await pilot.click("#numbers", offset=(1, 5), times=2)
        assert app.told == [("moved", 3), ("moved", 5), ("chosen", 5)]


async def test_fewer_lines_than_before_and_none_at_all() -> None:
    app = NumbersApp(100)
    async with app.run_test(size=(80, 24)) as pilot:
        numbers = app.numbers
        numbers.move_cursor(99)
        numbers.count = 3
        numbers.update_lines()
        assert numbers.cursor == 2
        numbers.count = 0
        numbers.update_lines()
        numbers.move_cursor(5)
        await pilot.pause()
        assert numbers.cursor == 0
