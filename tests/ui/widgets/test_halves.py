"""Two rows beside each other."""

from __future__ import annotations

from agentdbg.debugging.document import Halves, row
from agentdbg.ui.text import plain
from agentdbg.ui.widgets.halves import draw, half_of, rows_of
from agentdbg.ui.widgets.wrapping import cells


def test_each_half_wraps_on_its_own() -> None:
    line = Halves(row("short"), row("words " * 20))
    assert rows_of(line, 43) == rows_of(Halves((), line.right), 43) > 4
    first, last = (plain(tuple(draw(line, part, 43))) for part in (0, rows_of(line, 43) - 1))
    assert first.startswith("short") and " │ words" in first
    assert last.startswith(" " * half_of(43) + " │ ")


def test_wide_characters_keep_the_bar_in_its_column() -> None:
    for left in ("返金しました", "plain", "💶 paid"):
        line = Halves(row(left), row("right"))
        text = plain(tuple(draw(line, 0, 43)))
        assert cells(text.partition(" │ ")[0]) == half_of(43)


def test_no_row_is_wider_than_the_pane() -> None:
    line = Halves(row("返" * 60), row("x" * 90))
    for part in range(rows_of(line, 61)):
        assert cells(plain(tuple(draw(line, part, 61)))) <= 61
