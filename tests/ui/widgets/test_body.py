"""The body viewer: sections, values, and bodies of any size."""

from __future__ import annotations

import json

import pytest
from textual.app import App, ComposeResult

from agentdbg.debugging.document import Document, Section, Tone, fixed, row
from agentdbg.debugging.jsontext import block_of
from agentdbg.ui.widgets.body import BodyView, _json_value


class BodyApp(App[None]):
    """One viewer on a screen."""

    def __init__(self) -> None:
        super().__init__()
        self.animation_level = "none"
        self.body = BodyView(id="body")
        self.wanted: list[BodyView.Wanted] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"cursor-row": "#333333", "cursor-row-blurred": "#222222"}

    def compose(self) -> ComposeResult:
        yield self.body

    def on_body_view_wanted(self, event: BodyView.Wanted) -> None:
        self.wanted.append(event)

    def lines(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]


def body_of(data: bytes, *, size: int | None = None, key: str = "k", open_: bool = True) -> Section:
    return Section(
        key, row(("Title", Tone.HEADING)), lambda: block_of(data), len(data) if size is None else size, open_
    )


async def test_sections_open_close_and_are_set_apart() -> None:
    app = BodyApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.body.show("t", Document((body_of(b'{"a":1}'), body_of(b"x", key="z", open_=False))))
        await pilot.pause()
        assert app.lines()[:4] == ["▾ Title", '  {"a": 1}', "", "▸ Title"]
        app.body.toggle()
        await pilot.pause()
        assert app.lines()[:3] == ["▸ Title", "▸ Title", ""]
        app.body.move_cursor(1)
        app.body.toggle()
        await pilot.pause()
        assert app.lines()[:3] == ["▸ Title", "▾ Title", "  x"]


async def test_values_under_the_cursor() -> None:
    app = BodyApp()
    data = json.dumps({"text": "a\u001bb", "number": 1.0, "list": [[1], {"k": "v" * 80}]}).encode()
    async with app.run_test(size=(60, 20)):
        app.body.show("t", Document((body_of(data), fixed("f", [row("plain ", ("text", Tone.OK))]))))
        values = []
        for index in range(app.body.line_count()):
            app.body.set_reactive(BodyView.cursor, index)
            values.append(app.body.value())
        assert "a\x1bb" in values
        assert "1.0" in values
        assert json.loads(next(v for v in values if v.startswith("["))) == [[1], {"k": "v" * 80}]
        assert values[-1] == "plain text"
        assert app.body.body() == data


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('"k": "v",', "v"),
        ('"k": 1e999,', "1e999"),
        ('"v"', "v"),
        ("{", "{"),
        ("torn", "torn"),
        ('"k": {"a": 1},', '{"a": 1}'),
    ],
)
def test_values_of_lines(line: str, value: str) -> None:
    assert _json_value(line) == value


async def test_a_big_body_is_asked_for_once_and_taken_when_it_comes() -> None:
    app = BodyApp()
    async with app.run_test(size=(60, 20)) as pilot:
        section = body_of(b"ready", size=10_000_000)
        app.body.show("t", Document((section,)))
        app.body.toggle_wrap()
        await pilot.pause()
        assert app.lines()[1] == "  loading 10 MB …"
        assert [event.sections for event in app.wanted] == [[section]]
        app.body.take(app.wanted[0].generation - 1, {"k": section.load()})
        assert app.body._blocks == {}
        app.body.take(app.wanted[0].generation, {"k": section.load()})
        await pilot.pause()
        assert app.lines()[1] == "  ready"


async def test_twelve_megabytes_on_one_line() -> None:
    app = BodyApp()
    data = b"x" * 12_000_000
    async with app.run_test(size=(103, 20)) as pilot:
        section = body_of(data)
        app.body.show("t", Document((section,)))
        await pilot.pause()
        app.body.take(app.wanted[0].generation, {"k": section.load()})
        assert app.body.line_count() == 1 + 120_000 + 2_449 or app.body.line_count() > 120_000
        app.body.move_cursor(app.body.line_count() - 1)
        await pilot.pause()
        assert "xxx" in app.lines()[18]
        app.body.toggle_wrap()
        assert app.body.line_count() == 1 + 6_000


async def test_json_of_one_line_keeps_its_colours_where_it_breaks() -> None:
    app = BodyApp()
    async with app.run_test(size=(40, 20)) as pilot:
        app.body.show("t", Document((body_of(json.dumps({"key": "word " * 30}).encode()),)))
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        colours = {
            segment.style.color for strip in strips[2:5] for segment in strip if segment.text.strip() and segment.style
        }
        assert len(colours) <= 3
        assert app.lines()[3].startswith("      word")


async def test_wide_characters_do_not_push_the_edge() -> None:
    app = BodyApp()
    async with app.run_test(size=(41, 20)) as pilot:
        app.body.show("t", Document((body_of(("漢字" * 40 + "👩\u200d👧").encode()),)))
        await pilot.pause()
        assert all(strip.cell_length == 41 for strip in app.screen._compositor.render_strips())
