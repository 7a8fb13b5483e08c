"""Rows of a name and what is said of it, where names are as wide as a language makes them."""

from __future__ import annotations

from typing import Final

from agentdbg.debugging.document import Row, Span, Tone, row
from agentdbg.model.safe_text import safe_line

LABEL_WIDTH: Final = 14


def cut_to(text: str, width: int) -> str:
    """A text that fits into a width, with a sign where it was cut."""
    from rich.cells import cell_len

    shown = str(safe_line(text))
    return shown if cell_len(shown) <= width else padded(shown, width)


def padded(text: str, width: int) -> str:
    """A text as wide as a column: filled up, or cut with a sign that it was."""
    from rich.cells import cell_len, set_cell_size

    shown = str(safe_line(text))
    if cell_len(shown) <= width:
        return set_cell_size(shown, width)
    return set_cell_size(shown, width - 1) + "…"


def said(label: str, value: str, tone: Tone = Tone.PLAIN, *more: Span) -> Row:
    """A name, and what is said of it."""
    return row((padded(label, LABEL_WIDTH - 1) + " ", Tone.LABEL), (value, tone), *more)
