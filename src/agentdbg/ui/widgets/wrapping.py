"""Where lines break: at words where there are some, by cells for wide characters, by force for very long lines."""

from __future__ import annotations

from typing import Final

from rich.cells import get_character_cell_size

HARD_SPLIT: Final = 2_000
"""Cells after which a line is split even where lines are not wrapped."""

_CAREFUL: Final = 20_000


def indent_of(line: str, width: int, further: int = 0) -> int:
    """How far the continuations of a line are set in: as far as the line itself, and ``further``."""
    return min(len(line) - len(line.lstrip(" ")) + further, width // 3)


def fits(line: str, width: int) -> bool:
    """Whether a line needs no break."""
    return len(line) * 2 <= width or (len(line) <= width and (line.isascii() or cells(line) <= width))


def cells(text: str) -> int:
    """Width of a text on the terminal, summed over its characters."""
    return sum(map(get_character_cell_size, text))


def breaks(line: str, width: int, indent: int) -> list[int]:
    """Offsets at which the rows of a line start; the first is 0.

    Args:
        line: The line.
        width: Cells of the first row.
        indent: Cells that the other rows are set in.
    """
    if fits(line, width):
        return [0]
    rest = max(width - indent, 1)
    if len(line) > _CAREFUL:
        step = rest if line.isascii() else max(rest // 2, 1)
        return [0, *range(width if line.isascii() else max(width // 2, 1), len(line), step)]
    starts = [0]
    while True:
        start = starts[-1]
        end = _end(line, start, width if start == 0 else rest)
        if end >= len(line):
            return starts
        starts.append(end)


def row_count(line: str, width: int, indent: int) -> int:
    """How many rows a line takes."""
    if fits(line, width):
        return 1
    if len(line) > _CAREFUL and line.isascii():
        return 1 + -(-(len(line) - width) // max(width - indent, 1))
    return len(breaks(line, width, indent))


def _end(line: str, start: int, width: int) -> int:
    """Offset after the last character of the row that begins at ``start``."""
    hard = start + width if line.isascii() else _hard_end(line, start, width)
    if hard >= len(line):
        return len(line)
    space = line.rfind(" ", start + 1, hard + 1)
    return space + 1 if space > start + width // 2 and line[start:space].strip() else hard


def _hard_end(line: str, start: int, width: int) -> int:
    used = 0
    for offset in range(start, len(line)):
        size = get_character_cell_size(line[offset])
        if used + size > width and offset > start:
            return offset
        used += size
    return len(line)
