"""Bars of one line."""

from __future__ import annotations

from textual.app import App, ComposeResult

from agentdbg.debugging.document import span
from agentdbg.ui.widgets.bars import Bar, KeyBar, TabBar


class BarsApp(App[None]):
    """All bars on a screen."""

    def __init__(self) -> None:
        super().__init__()
        self.picked: list[str] = []

    def compose(self) -> ComposeResult:
        yield Bar(id="bar")
        yield TabBar(id="tabs")
        yield KeyBar(id="keys")

    def on_tab_bar_picked(self, event: TabBar.Picked) -> None:
        self.picked.append(event.tab_id)

    def on_key_bar_picked(self, event: KeyBar.Picked) -> None:
        self.picked.append(event.action_id)

    def line(self, number: int) -> str:
        return self.screen._compositor.render_strips()[number].text


async def test_the_right_part_gives_way() -> None:
    app = BarsApp()
    async with app.run_test(size=(20, 5)) as pilot:
        bar = app.query_one("#bar", Bar)
        bar.show([span("left")], [span("right")])
        await pilot.pause()
        assert app.line(0) == "left           right"
        bar.show([span("left " * 3)], [span("too much right")])
        await pilot.pause()
        assert app.line(0) == "left left left      "


async def test_the_current_tab_stands_out_without_colour_and_a_click_picks() -> None:
    app = BarsApp()
    async with app.run_test(size=(40, 5)) as pilot:
        app.query_one(TabBar).show_tabs([("a", "0", "One"), ("b", "1", "Two")], "b")
        await pilot.pause()
        assert app.line(1).rstrip() == " 0 One ▌1 Two"
        await pilot.click(TabBar, offset=(9, 0))
        await pilot.click(TabBar, offset=(30, 0))
        assert app.picked == ["b"]


async def test_the_last_keys_are_always_there() -> None:
    app = BarsApp()
    async with app.run_test(size=(30, 5)) as pilot:
        keys = app.query_one(KeyBar)
        keys.show_keys([("a", "n", "next"), ("b", "s", "something long"), ("c", "?", "help"), ("d", "q", "back")])
        await pilot.pause()
        assert app.line(2) == " n next        ? help  q back "
        await pilot.click(KeyBar, offset=(26, 0))
        assert app.picked == ["d"]
        keys.say("done")
        await pilot.pause()
        assert (app.line(2).strip(), keys.saying) == ("done", "done")
        keys.say("")
        await pilot.pause()
        assert "help" in app.line(2)
