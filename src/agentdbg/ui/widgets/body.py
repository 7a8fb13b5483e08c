"""Shows a document: sections that open and close, JSON in colour, lines wrapped or panned."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Final

from rich.segment import Segment
from textual.message import Message

from agentdbg.debugging.document import (
    Block,
    Document,
    Flavour,
    Halves,
    Row,
    Section,
    Span,
    Tone,
    load,
    row,
    size_words,
    span,
)
from agentdbg.debugging.jsontext import colour
from agentdbg.debugging.statefields import Path, parse_path, path_of_line
from agentdbg.model.safe_text import SafeText
from agentdbg.ui.text import Palette, plain, segments
from agentdbg.ui.widgets import halves
from agentdbg.ui.widgets.halves import cut
from agentdbg.ui.widgets.layout import Lines, Stretch
from agentdbg.ui.widgets.lines import LineView
from agentdbg.ui.widgets.wrapping import HARD_SPLIT, breaks, cells, indent_of, row_count

AT_ONCE: Final = 256 * 1024
"""Bytes of bodies that are read in the key's own frame; more is read on a worker thread."""
_MARGIN: Final = 3


class BodyView(LineView):
    """A document, and what of it is open."""

    class Wanted(Message):
        """Sections whose bodies are too big to read here and now."""

        def __init__(self, generation: int, sections: list[Section]) -> None:
            super().__init__()
            self.generation = generation
            self.sections = sections

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Show nothing yet."""
        super().__init__(id=id)
        self.document = Document()
        self.generation = 0
        self.wrap = True
        self._tab = ""
        self._toggled: dict[tuple[str, str], bool] = {}
        self._blocks: dict[str, Block] = {}
        self._asked: set[str] = set()
        self._lines = Lines()
        self._ends: array[int] = array("Q")
        self._width = 80

    # The document

    def show(self, name: str, document: Document, *, keep_place: bool = False) -> None:
        """Show a document.

        Args:
            name: Tab that it belongs to; open and closed sections are remembered by it.
            document: What to show.
            keep_place: It is the same as before with something added: stay where the reader is.
        """
        self.generation += 1
        self.document = document
        self._tab = name
        self._blocks.clear()
        self._asked.clear()
        if not keep_place:
            self.pan = 0
            self.set_reactive(LineView.cursor, 0)
            self.scroll_to(y=0, animate=False, immediate=True)
        self._lay_out()

    def take(self, generation: int, blocks: Mapping[str, Block]) -> None:
        """Take in bodies that a worker has read; stale ones are dropped."""
        if generation == self.generation:
            self._blocks.update(blocks)
            self._lay_out()

    def is_open(self, section: Section) -> bool:
        """Whether a section shows its content."""
        return not section.title or self._toggled.get((self._tab, section.key), section.open)

    def toggle(self) -> None:
        """Open or close the section that the cursor is in."""
        section = self.section
        if section is None or not section.title:
            return
        self._toggled[self._tab, section.key] = not self.is_open(section)
        self._lay_out()
        at = self._lines.title_of(section)
        self.move_cursor(self._ends[at - 1] if at else 0)

    def toggle_wrap(self) -> None:
        """Wrap long lines, or let them run out of the pane to be panned."""
        self.wrap = not self.wrap
        self.pan = 0
        self._lay_out()

    @property
    def section(self) -> Section | None:
        """The section that the cursor is in."""
        return self._lines.stretch_at(self._line_at(self.cursor)[0]).section if len(self._lines) else None

    def body(self) -> bytes | None:
        """The bytes behind the section under the cursor; else those of the first section that has some."""
        section = self.section
        block = self._blocks.get(section.key) if section is not None else None
        if block is not None and block.raw is not None:
            return block.raw
        return next((block.raw for block in self._blocks.values() if block.raw is not None), None)

    def value(self) -> str:
        """The value on the cursor's line: of a JSON member its value, of a text its line."""
        if not len(self._lines):
            return ""
        at = self._line_at(self.cursor)[0]
        text = self._lines.text(at)
        block = self._blocks.get(self._lines.stretch_at(at).section.key)
        if block is None or block.flavour is not Flavour.JSON:
            return text.strip()
        lines = [text]
        if text.rstrip().endswith(("{", "[")):
            lines.extend(self._members_after(at, text))
        return _json_value("\n".join(lines))

    def field(self) -> Path | None:
        """The member of a JSON document that the cursor's line shows, or the path that a change names."""
        if not len(self._lines):
            return None
        at = self._line_at(self.cursor)[0]
        line = self._lines.line(at)
        if isinstance(line, tuple | Halves):
            named = line.left if isinstance(line, Halves) else line
            keys = (part.text.strip() for part in named if part.tone is Tone.KEY)
            return next((path for path in map(parse_path, keys) if path is not None), None)
        start = self._lines.start_of(at)
        return path_of_line([self._lines.text(index) for index in range(start, at + 1)], at - start)

    # Lines

    def line_count(self) -> int:
        """How many rows the open sections take."""
        return self._ends[-1] if self._ends else 0

    def draw(self, index: int, palette: Palette) -> list[Segment]:
        """One row."""
        at, part = self._line_at(index)
        stretch, line = self._lines.stretch_at(at), self._lines.line(at)
        section = stretch.section
        if stretch.is_title:
            return segments(self._title(section, here=index == self.cursor), palette)
        if isinstance(line, Halves):
            return segments([span("  "), *halves.draw(line, part, self._width)], palette)
        text = line if isinstance(line, str) else plain(line)
        width, indent = self._measure(line, text)
        starts = _breaks(text, width, indent)
        start = starts[part]
        end = starts[part + 1] if part + 1 < len(starts) else len(text)
        block = self._blocks.get(section.key)
        json_line = isinstance(line, str) and block is not None and block.flavour is Flavour.JSON
        spans = _cut(line, start, end) if not json_line else _coloured(text, start, end)
        margin = [span("  " if section.title else " ")]
        return segments([*margin, *([span(" " * indent)] if part else []), *spans], palette)

    def on_resize(self) -> None:
        """Lines break elsewhere now."""
        self._lay_out()
        self.reveal(self.cursor)

    # Inside

    def _lay_out(self) -> None:
        stretches: list[Stretch] = []
        wanted: list[Section] = []
        read = 0
        content_before = set_apart = False
        for section in self.document.sections:
            if (set_apart or (content_before and section.title)) and not section.tight:
                stretches.append(Stretch(section, ((),)))
            if section.title:
                stretches.append(Stretch(section, (section.title,), is_title=True))
            content_before = self.is_open(section)
            set_apart = content_before and bool(section.title)
            if not content_before:
                continue
            block = self._blocks.get(section.key)
            if block is None and not section.slow and read + section.size <= AT_ONCE:
                read += section.size
                block = self._blocks[section.key] = load(section)
            if block is None:
                wanted.append(section)
                stretches.append(Stretch(section, (_waiting(section),)))
            else:
                stretches.append(Stretch(section, block.lines))
        self._lines = Lines(stretches)
        self._width = max(self.size.width - _MARGIN, 10)
        self._ends = array("Q", accumulate(self._row_counts()))
        self.update_lines()
        fresh = [section for section in wanted if section.key not in self._asked]
        if fresh:
            self._asked.update(section.key for section in fresh)
            self.post_message(self.Wanted(self.generation, wanted))

    def _row_counts(self) -> Iterator[int]:
        for stretch in self._lines.stretches:
            if stretch.is_title:
                yield 1
                continue
            for line in stretch.lines:
                short = isinstance(line, str) and len(line) <= self._width and line.isascii()
                yield 1 if short else self._rows_of(line)

    def _rows_of(self, line: SafeText | Row | Halves) -> int:
        if isinstance(line, Halves):
            return halves.rows_of(line, self._width)
        text = line if isinstance(line, str) else plain(line)
        return row_count(text, *self._measure(line, text))

    def _measure(self, line: SafeText | Row, text: str) -> tuple[int, int]:
        """Cells of a row, and how far continuations are set in."""
        if not self.wrap:
            return HARD_SPLIT, 0
        if not isinstance(line, str) and line and line[0].tone is Tone.LABEL:
            return self._width, min(cells(line[0].text), self._width // 2)
        return self._width, indent_of(text, self._width, 0 if text[:1].isalpha() else 2)

    def _line_at(self, index: int) -> tuple[int, int]:
        """The line that a row belongs to, and which of its rows it is."""
        at = min(bisect_right(self._ends, index), len(self._lines) - 1)
        return at, index - (self._ends[at - 1] if at else 0)

    def _title(self, section: Section, *, here: bool) -> list[Span]:
        sign = "▾" if self.is_open(section) else "▸"
        return [span(f"{sign} ", Tone.ACCENT if here else Tone.DIM), *section.title]

    def _members_after(self, at: int, text: str) -> list[str]:
        depth = len(text) - len(text.lstrip(" "))
        members = []
        for member in self._lines.following(at):
            members.append(member)
            if len(member) - len(member.lstrip(" ")) <= depth:
                break
        return members


@lru_cache(256)
def _breaks(text: str, width: int, indent: int) -> list[int]:
    return breaks(text, width, indent)


def _cut(line: SafeText | Row, start: int, end: int) -> list[Span]:
    return [span(line[start:end])] if isinstance(line, str) else cut(line, start, end)


def _waiting(section: Section) -> Row:
    return row(("comparing …" if section.slow else f"loading {size_words(section.size)} …", Tone.DIM))


def _coloured(text: str, start: int, end: int) -> list[Span]:
    """Part of a line of JSON; very long lines are coloured by their part alone."""
    if len(text) > HARD_SPLIT * 4:
        text, start, end = text[start:end], 0, end - start
    spans = []
    done = start
    for low, high, tone in colour(text):
        low, high = max(low, start), min(high, end)
        if low >= high:
            continue
        if low > done:
            spans.append(span(text[done:low]))
        spans.append(span(text[low:high], tone))
        done = high
    if done < end:
        spans.append(span(text[done:end]))
    return spans


def _json_value(text: str) -> str:
    """The value of ``"key": value,``; strings without their quotes."""
    text = text.strip().removesuffix(",")
    decoder = json.JSONDecoder(strict=False)
    try:
        value, end = decoder.raw_decode(text)
        if isinstance(value, str) and text[end:].lstrip().startswith(":"):
            text = text[end:].lstrip()[1:].lstrip()
            value, end = decoder.raw_decode(text)
    except ValueError:
        return text
    return value if isinstance(value, str) and not text[end:].strip() else text
