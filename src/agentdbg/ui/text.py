"""The one door through which recorded text reaches a widget: always as plain segments or content, never as markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual.content import Content

from agentdbg.debugging.document import Halves, Row, Span, Tone
from agentdbg.model.safe_text import safe_block, safe_line

Palette = Mapping[Tone, Style]
"""What each tone looks like in the current theme."""


def segment(text: str, style: Style | None = None) -> Segment:
    """A piece of a line."""
    return Segment(safe_line(text), style)


def segments(row: Iterable[Span], palette: Palette) -> list[Segment]:
    """A row in the colours of the theme."""
    return [Segment(safe_line(span.text), palette[span.tone]) for span in row]


def content(text: str) -> Content:
    """Content for widgets that take it; brackets stay brackets."""
    return Content(safe_block(text))


def plain(row: Row | Halves) -> str:
    """The text of a row; of two beside each other, one after the other."""
    if isinstance(row, Halves):
        return f"{plain(row.left)}  {plain(row.right)}"
    return "".join(span.text for span in row)


def words_for(address: str, error: Exception) -> str:
    """Why a run cannot be opened."""
    if isinstance(error, KeyError):
        return f"{address}: there is no such run"
    return f"{address}: {error}" if str(error) else f"{address}: {type(error).__name__}"
