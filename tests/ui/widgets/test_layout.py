"""Lines of several sections, counted through."""

from __future__ import annotations

from agentdbg.debugging.document import Block, Section, Tone, row
from agentdbg.model.safe_text import SafeText
from agentdbg.ui.widgets.layout import Lines, Stretch


def section(key: str) -> Section:
    return Section(key, row((key, Tone.HEADING)), lambda: Block([]))


def test_lines_are_found_by_their_number() -> None:
    first, second = section("first"), section("second")
    texts = [SafeText("a"), SafeText("b"), SafeText("c")]
    lines = Lines(
        [
            Stretch(first, (first.title,), True),
            Stretch(first, texts),
            Stretch(second, ()),
            Stretch(second, (second.title,), True),
        ]
    )
    assert len(lines) == 5
    assert [lines.text(index) for index in range(5)] == ["first", "a", "b", "c", "second"]
    assert [lines.stretch_at(index).is_title for index in range(5)] == [True, False, False, False, True]
    assert (lines.title_of(first), lines.title_of(second), lines.title_of(section("gone"))) == (0, 4, 0)
    assert list(lines.following(1)) == ["b", "c"]
    assert list(lines.following(4)) == []


def test_no_lines() -> None:
    assert len(Lines()) == 0
