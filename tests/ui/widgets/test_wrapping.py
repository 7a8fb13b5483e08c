"""Lines break where a reader expects it, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.ui.widgets.wrapping import breaks, cells, fits, indent_of, row_count

LINES = st.text(st.sampled_from("ab ,漢👩\u200de\u0301"), max_size=120)


@given(LINES, st.integers(10, 60), st.integers(0, 8))
def test_rows_fit_and_count_and_lose_nothing(line: str, width: int, indent: int) -> None:
    starts = breaks(line, width, indent)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert len(starts) == row_count(line, width, indent)
    rows = [line[start:end] for start, end in zip(starts, [*starts[1:], len(line)], strict=True)]
    assert "".join(rows) == line
    for number, row in enumerate(rows):
        assert cells(row.rstrip(" ")) <= (width if number == 0 else width - indent)


def test_words_stay_whole() -> None:
    line = "The headphones of order A-1042 do not fit me."
    starts = breaks(line, 20, 0)
    assert [line[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)] == [
        "The headphones of", "order A-1042 do not", "fit me.",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [30_000, 12_000_000])
def test_very_long_lines_are_cut_by_arithmetic(size: int) -> None:
    line = "x" * size
    assert row_count(line, 100, 2) == 1 + -(-(size - 100) // 98)


def test_long_wide_lines_are_cut_short_enough() -> None:
    line = "漢" * 30_000
    starts = breaks(line, 100, 0)
    assert all(cells(line[a:b]) <= 100 for a, b in zip(starts, [*starts[1:], None], strict=True))
    assert len(starts) == row_count(line, 100, 0)


def test_small_questions() -> None:
    assert fits("abc", 3)
    assert not fits("漢字", 3)
    assert (indent_of("    x", 60, 2), indent_of("    x", 60), indent_of(" " * 50, 60)) == (6, 4, 20)
