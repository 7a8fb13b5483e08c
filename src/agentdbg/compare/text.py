"""What differs between two texts: lines first, then the words inside lines that changed.

Scripts without spaces between words are compared by character. Lines end at line feeds alone, so that a carriage return
or a Unicode line separator is a difference that is seen.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentdbg.compare.alignment import (
    ADDED,
    CHANGED,
    REMOVED,
    SAME,
    Block,
    Finder,
    Stop,
    Stopped,
    blocks_of,
    changed_rows,
    never,
)
from agentdbg.model.segments import common_prefix

SECONDS: Final = 1.5
LINES_ONLY: Final = "took too long: the words of some changed lines are not compared"
LONG_LINE: Final = "a line is too long to be compared word by word"
LONGEST: Final = 400_000
"""Characters of both versions of a line together up to which its words are compared."""
ALIKE: Final = 0.4
"""Share of words in common from which two lines are versions of each other."""
UNLIKE: Final = 0.1
"""Share of text in common below which a line is shown as replaced as a whole."""
_MATCHED_CELLS: Final = 4_000
_WORD_CELLS: Final = 16_000_000
_IDEOGRAPHS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003fffd"
)
_MARKS: Final = "(?:[\u0300-\u036f\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]|\u200d.)*"
_TOKEN: Final = re.compile(rf"(?:[^\W{_IDEOGRAPHS}]++{_MARKS}+)++|[ ]+|[^\S ]|.{_MARKS}", re.DOTALL)
_VISIBLE: Final = str.maketrans({" ": "·", "\t": "→", "\r": "␍", "\u00a0": "⍽"})
_BLANK_ENDS: Final = re.compile(r"^[ \t\r\u00a0]+|[ \t\r\u00a0]+$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a changed line: ``=`` on both sides, ``-`` on the first only, ``+`` on the second only."""

    sign: str
    text: str

    @property
    def shown(self) -> str:
        """The text, with blanks visible where they are what changed."""
        if self.sign == SAME:
            return self.text
        return _BLANK_ENDS.sub(lambda match: match[0].translate(_VISIBLE), self.text)


@dataclass(frozen=True, slots=True)
class LineChange:
    """One row of the comparison.

    Attributes:
        sign: ``=``, ``~``, ``+`` or ``-``.
        i: Number of the line in the first text, from 0.
        j: Number of the line in the second text.
        pieces: What the line is made of; the whole line as one piece of either side where words were not compared.
    """

    sign: str
    i: int | None
    j: int | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class TextDiff:
    """Attributes:
    lines: All rows, in order.
    note: Empty, or how the answer falls short.
    """

    lines: tuple[LineChange, ...]
    note: str = ""

    @cached_property
    def changed(self) -> tuple[LineChange, ...]:
        """The rows that are not equal."""
        return tuple(line for line in self.lines if line.sign != SAME)


def diff_text(before: str, after: str, *, should_stop: Stop = never, seconds: float = SECONDS) -> TextDiff:
    """Compare two texts.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    return _TextWalk(before.split("\n"), after.split("\n"), should_stop, time.monotonic() + seconds).result()


def tokens(line: str) -> list[str]:
    """A line as words, blanks, signs and single ideographs."""
    return _TOKEN.findall(line)


class _TextWalk:
    def __init__(self, before: list[str], after: list[str], should_stop: Stop, deadline: float) -> None:
        self._a, self._b = before, after
        self._stop, self._deadline = should_stop, deadline
        self._note = ""

    def result(self) -> TextDiff:
        finder = Finder(self._stop)
        lines: list[LineChange] = []
        for block in finder.blocks(self._a, self._b):
            lines.extend(
                LineChange(SAME, block.i + k, block.j + k, (Piece(SAME, self._a[block.i + k]),))
                for k in range(block.same)
            )
            lines.extend(self._changed(finder, block))
        return TextDiff(tuple(lines), self._note or finder.note)

    def _changed(self, finder: Finder, block: Block) -> Iterator[LineChange]:
        if len(block.removed) == len(block.added):
            rows = [(CHANGED, i, j) for i, j in zip(block.removed, block.added, strict=True)]
            yield from (self._line(i, j) for _, i, j in rows)
            return
        gists = (lambda i: _gist(self._a[i], i), lambda j: _gist(self._b[j], -1 - j))
        pairs = [(row.i, row.j) for row in changed_rows(finder, block, (gists,)) if row.sign == CHANGED]
        known = [(i, j) for i, j in pairs if i is not None and j is not None]
        stretch = (block.removed.start, block.added.start, block.removed.stop, block.added.stop)
        for part in blocks_of(known, *stretch):
            yield from (self._line(part.i + k, part.j + k) for k in range(part.same))
            yield from self._by_likeness(part)

    def _by_likeness(self, part: Block) -> Iterator[LineChange]:
        """Pair lines that share words, where there are few enough to try them all."""
        known: list[tuple[int, int]] = []
        if part.removed and part.added and len(part.removed) * len(part.added) <= _MATCHED_CELLS and not self._late():
            known = self._likest(part.removed, part.added)
        stretch = (part.removed.start, part.added.start, part.removed.stop, part.added.stop)
        for rest in blocks_of(known, *stretch):
            yield from (self._line(rest.i + k, rest.j + k) for k in range(rest.same))
            yield from (LineChange(REMOVED, i, None, (Piece(REMOVED, self._a[i]),)) for i in rest.removed)
            yield from (LineChange(ADDED, None, j, (Piece(ADDED, self._b[j]),)) for j in rest.added)

    def _likest(self, left: range, right: range) -> list[tuple[int, int]]:
        """Pairs of lines, rising in both, with the greatest likeness in all."""
        words_a, words_b = [_words(self._a[i]) for i in left], [_words(self._b[j]) for j in right]
        best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
        likeness = [[_likeness(a, b) for b in words_b] for a in words_a]
        for x, row in enumerate(likeness):
            if self._stop():
                raise Stopped
            for y, value in enumerate(row):
                best[x + 1][y + 1] = max(best[x][y] + value, best[x][y + 1], best[x + 1][y])
        pairs: list[tuple[int, int]] = []
        x, y = len(left), len(right)
        while x and y:
            if best[x][y] == best[x - 1][y]:
                x -= 1
            elif best[x][y] == best[x][y - 1]:
                y -= 1
            else:
                x, y = x - 1, y - 1
                pairs.append((left[x], right[y]))
        return pairs[::-1]

    def _line(self, i: int, j: int) -> LineChange:
        if self._stop():
            raise Stopped
        a, b = self._a[i], self._b[j]
        if self._late():
            return LineChange(CHANGED, i, j, (Piece(REMOVED, a), Piece(ADDED, b)))
        if len(a) + len(b) > LONGEST:
            self._note = self._note or LONG_LINE
            return LineChange(CHANGED, i, j, tuple(_ends_apart(a, b)))
        pieces = tuple(self._pieces(a, b))
        kept = sum(len(piece.text.strip()) for piece in pieces if piece.sign == SAME)
        if 2 * kept < UNLIKE * (len(a) + len(b)):
            pieces = tuple(Piece(sign, text) for sign, text in ((REMOVED, a), (ADDED, b)) if text)
        return LineChange(CHANGED, i, j, pieces)

    def _pieces(self, a: str, b: str) -> Iterator[Piece]:
        left, right = tokens(a), tokens(b)
        finder = Finder(self._stop, _WORD_CELLS)
        for block in finder.blocks(left, right):
            for sign, words in (
                (SAME, left[block.i : block.i + block.same]),
                (REMOVED, left[block.removed.start : block.removed.stop]),
                (ADDED, right[block.added.start : block.added.stop]),
            ):
                if words:
                    yield Piece(sign, "".join(words))
        self._note = self._note or finder.note

    def _late(self) -> bool:
        if time.monotonic() < self._deadline:
            return False
        self._note = LINES_ONLY
        return True


def _ends_apart(a: str, b: str) -> Iterator[Piece]:
    """What is between the common beginning and the common end as one change."""
    front = common_prefix(a, b)
    back = common_prefix(a[front:][::-1], b[front:][::-1])
    end_a, end_b = len(a) - back, len(b) - back
    pieces = ((SAME, a[:front]), (REMOVED, a[front:end_a]), (ADDED, b[front:end_b]), (SAME, a[end_a:]))
    return (Piece(sign, text) for sign, text in pieces if text)


def _gist(line: str, otherwise: int) -> str | int:
    """How a line begins, numbers and blanks apart: lines that agree in it are likely versions of each other."""
    gist = "".join(char for char in line[:200] if not char.isspace() and not char.isdigit())[:24]
    return gist if len(gist) >= 12 else otherwise


def _words(line: str) -> Counter[str]:
    return Counter(word for word in tokens(line[:2000]) if not word.isspace())


def _likeness(a: Counter[str], b: Counter[str]) -> float:
    whole = a.total() + b.total()
    shared = 2 * (a & b).total() / whole if whole else 0.0
    return shared if shared >= ALIKE else 0.0
