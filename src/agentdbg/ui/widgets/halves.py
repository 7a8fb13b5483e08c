"""Two rows beside each other, each wrapped in its own half of the width."""

from __future__ import annotations

from typing import Final

from agentdbg.debugging.document import Halves, Row, Span, Tone, span
from agentdbg.ui.text import plain
from agentdbg.ui.widgets.wrapping import breaks, cells, row_count

_BETWEEN: Final = " │ "
_INDENT: Final = 8


def half_of(width: int) -> int:
    """Cells of one half."""
    return max((width - len(_BETWEEN)) // 2, 4)


def rows_of(line: Halves, width: int) -> int:
    """How many rows the longer half takes."""
    half = half_of(width)
    return max(row_count(plain(side), half, _indent(half)) for side in (line.left, line.right))


def draw(line: Halves, part: int, width: int) -> list[Span]:
    """One row of both halves."""
    half = half_of(width)
    left, right = (_part(side, part, half) for side in (line.left, line.right))
    gap = half - sum(cells(piece.text) for piece in left)
    return [*left, span(" " * max(gap, 0)), span(_BETWEEN, Tone.DIM), *right]


def cut(line: Row, start: int, end: int) -> list[Span]:
    """The part of a row between two offsets."""
    spans = []
    at = 0
    for part in line:
        low, high = max(start - at, 0), min(end - at, len(part.text))
        if low < high:
            spans.append(span(part.text[low:high], part.tone))
        at += len(part.text)
    return spans


def _part(side: Row, part: int, half: int) -> list[Span]:
    text = plain(side)
    starts = breaks(text, half, _indent(half))
    if part >= len(starts):
        return []
    end = starts[part + 1] if part + 1 < len(starts) else len(text)
    shown = cut(side, starts[part], end)
    return [span(" " * _indent(half)), *shown] if part else shown


def _indent(half: int) -> int:
    return min(_INDENT, half // 3)
