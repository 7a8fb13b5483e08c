"""Reads documents as text, for tests of what a tab says."""

from __future__ import annotations

from agentdbg.debugging.document import Document, Row


def text_of(document: Document, *, only_open: bool = False) -> str:
    """All titles and lines of a document, one a line."""
    lines: list[str] = []
    for section in document.sections:
        if section.title:
            lines.append(row_text(section.title))
        if section.open or not only_open:
            lines.extend(line if isinstance(line, str) else row_text(line) for line in section.load().lines)
    return "\n".join(lines)


def row_text(row: Row) -> str:
    """The text of a row."""
    return "".join(span.text for span in row)
