"""Reads documents as text, for tests of what a tab says."""

from __future__ import annotations

from agentdbg.debugging.document import Document, Halves, Line, Row


def text_of(document: Document, *, only_open: bool = False) -> str:
    """All titles and lines of a document, one a line."""
    lines: list[str] = []
    for section in document.sections:
        if section.title:
            lines.append(row_text(section.title))
        if section.open or not only_open:
            lines.extend(line_text(line) for line in section.load().lines)
    return "\n".join(lines)


def line_text(line: Line) -> str:
    """The text of a line; of two beside each other, with a bar between."""
    if isinstance(line, str):
        return line
    return f"{row_text(line.left)} │ {row_text(line.right)}" if isinstance(line, Halves) else row_text(line)


def row_text(row: Row) -> str:
    """The text of a row."""
    return "".join(span.text for span in row)
