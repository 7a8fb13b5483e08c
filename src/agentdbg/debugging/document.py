"""What a pane shows, as data: rows of toned text in sections that open and close. Every text in it is safe text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from agentdbg.model.safe_text import SafeText, safe_line


class Tone(StrEnum):
    """What a piece of text is; themes decide how that looks."""

    PLAIN = "plain"
    DIM = "dim"
    LABEL = "label"
    HEADING = "heading"
    STRONG = "strong"
    ACCENT = "accent"
    OK = "ok"
    WARN = "warn"
    ERROR = "error"
    KEY = "json-key"
    STRING = "json-string"
    NUMBER = "json-number"
    LITERAL = "json-literal"
    PUNCTUATION = "json-punctuation"
    MODEL = "kind-model"
    TOOL = "kind-tool"
    STRUCTURE = "kind-structure"
    CHECKPOINT = "kind-checkpoint"
    READ = "effect-read"
    WRITE = "effect-write"
    EXTERNAL = "effect-external"
    GONE = "diff-removed"
    NEW = "diff-added"


@dataclass(frozen=True, slots=True)
class Span:
    """Safe text with a tone. Made by :func:`span`."""

    text: SafeText
    tone: Tone = Tone.PLAIN


Row: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Halves:
    """Two rows beside each other; each wraps in its own half."""

    left: Row
    right: Row


Line: TypeAlias = "SafeText | Row | Halves"
Stop: TypeAlias = "Callable[[], bool]"


class Flavour(StrEnum):
    """How the lines of a block are coloured."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Block:
    """The content of a section.

    Attributes:
        lines: Lines, coloured by ``flavour``, or ready-made rows.
        flavour: How to colour plain lines.
        raw: The bytes behind it, for copying; ``None`` where nothing recorded stands behind it.
    """

    lines: Sequence[Line]
    flavour: Flavour = Flavour.TEXT
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a document.

    Attributes:
        key: Name that stays the same from step to step, so that open and closed are remembered.
        title: The heading row; empty for a section without one, which is always open.
        load: Makes the content; reads ``size`` bytes of bodies.
        size: How much ``load`` has to read, in bytes.
        open: Whether it starts open.
        tight: Whether it follows what stands above it without a gap, as a row of a table.
        slow: Whether ``load`` computes for long: it then runs on a worker whatever its size.
        compute: What ``load`` does, for one that can be told to stop; replaces it.
    """

    key: str
    title: Row
    load: Callable[[], Block]
    size: int = 0
    open: bool = True
    tight: bool = False
    slow: bool = False
    compute: Callable[[Stop], Block] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """What one tab says about one step."""

    sections: tuple[Section, ...] = field(default_factory=tuple)


def span(text: str, tone: Tone = Tone.PLAIN) -> Span:
    """A piece of a row, from any text."""
    return Span(safe_line(text), tone)


def row(*parts: Span | str | tuple[str, Tone]) -> Row:
    """A row from texts, ``(text, tone)`` pairs and spans."""
    spans = []
    for part in parts:
        if isinstance(part, Span):
            spans.append(part)
        elif isinstance(part, str):
            spans.append(span(part))
        else:
            spans.append(span(*part))
    return tuple(spans)


def fixed(key: str, rows: Sequence[Row], *, title: Row = (), raw: bytes | None = None, open_: bool = True) -> Section:
    """A section whose rows are known already."""
    return Section(key, title, lambda: Block(rows, raw=raw), open=open_)


def note(key: str, text: str, tone: Tone = Tone.DIM) -> Section:
    """A section of one line."""
    return fixed(key, [row((text, tone))])


def computed(
    key: str, title: Row, compute: Callable[[Stop], Block], *, open_: bool = True, tight: bool = False
) -> Section:
    """A section whose content takes a while to compute, and can be called off."""
    return Section(key, title, lambda: compute(lambda: False), open=open_, tight=tight, slow=True, compute=compute)


def load(section: Section, stop: Stop = lambda: False) -> Block:
    """The content of a section; what keeps it from being shown becomes its content."""
    try:
        return section.load() if section.compute is None else section.compute(stop)
    except Exception as problem:  # whatever is wrong with one body, the rest is still shown
        return Block([row(("cannot be shown: ", Tone.WARN), f"{type(problem).__name__}: {problem}")])


def size_words(size: int) -> str:
    """A byte count for people."""
    if size < 1000:
        return f"{size} B"
    for unit, scale in (("KB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if size < scale * 1000 or unit == "GB":
            value = size / scale
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    raise AssertionError


def duration_words(milliseconds: float | None) -> str:
    """A duration for people, at most six characters."""
    if milliseconds is None:
        return "–"
    if milliseconds < 1:
        return "<1ms"
    if milliseconds < 10_000:
        return f"{milliseconds:.0f}ms" if milliseconds < 1000 else f"{milliseconds / 1000:.2f}s"
    seconds = milliseconds / 1000
    if seconds < 100:
        return f"{seconds:.1f}s"
    minutes = seconds / 60
    return f"{minutes:.0f}min" if minutes < 100 else f"{minutes / 60:.0f}h"
