"""The door for untrusted text."""

from __future__ import annotations

import pytest

from agentdbg.debugging.document import Span, Tone, row
from agentdbg.model.safe_text import SafeText
from agentdbg.ui import text
from agentdbg.ui.tones import palette_of
from tests.support.hostile import FEW, attacks


@pytest.mark.parametrize("hostile", FEW, ids=range(len(FEW)))
def test_nothing_dangerous_comes_through_and_nothing_is_markup(hostile: str) -> None:
    lied = Span(SafeText(hostile))
    pieces = [text.segment(hostile).text, text.segments([lied], palette_of({}))[0].text]
    assert attacks("".join(pieces)) == []
    assert attacks(text.content(hostile).plain.replace("\n", "").replace("\t", "")) == []
    assert not text.content(hostile).spans


def test_rows_in_colour_and_plain() -> None:
    palette = palette_of({"error": "#ff0000"})
    parts = text.segments(row("a", ("b", Tone.ERROR)), palette)
    assert [part.text for part in parts] == ["a", "b"]
    assert parts[1].style == palette[Tone.ERROR]
    assert text.plain(row("a", ("b", Tone.ERROR))) == "ab"
