"""The lines of a document in a row, without a list of them all: sections keep their own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentdbg.debugging.document import Line, Section
from agentdbg.ui.text import plain


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive lines of one section, or its title.

    Attributes:
        section: The section.
        lines: Its lines; of a title, the title alone.
        is_title: Whether this is the title.
    """

    section: Section
    lines: Sequence[Line]
    is_title: bool = False


class Lines:
    """Lines of several sections, counted through."""

    def __init__(self, stretches: Sequence[Stretch] = ()) -> None:
        """Put stretches in a row."""
        self.stretches = [stretch for stretch in stretches if len(stretch.lines)]
        self._starts: list[int] = []
        count = 0
        for stretch in self.stretches:
            self._starts.append(count)
            count += len(stretch.lines)
        self._count = count

    def __len__(self) -> int:
        """How many lines there are."""
        return self._count

    def stretch_at(self, index: int) -> Stretch:
        """The stretch that a line belongs to."""
        return self.stretches[bisect_right(self._starts, index) - 1]

    def line(self, index: int) -> Line:
        """A line."""
        at = bisect_right(self._starts, index) - 1
        return self.stretches[at].lines[index - self._starts[at]]

    def text(self, index: int) -> str:
        """The text of a line."""
        line = self.line(index)
        return line if isinstance(line, str) else plain(line)

    def title_of(self, section: Section) -> int:
        """Index of a section's title; 0 when it has none."""
        for start, stretch in zip(self._starts, self.stretches, strict=True):
            if stretch.section is section and stretch.is_title:
                return start
        return 0

    def start_of(self, index: int) -> int:
        """Index of the first line of the stretch that a line belongs to."""
        return self._starts[bisect_right(self._starts, index) - 1]

    def following(self, index: int) -> Iterator[str]:
        """Texts of the lines after one, to the end of its stretch."""
        at = bisect_right(self._starts, index) - 1
        end = self._starts[at] + len(self.stretches[at].lines)
        return (self.text(later) for later in range(index + 1, end))
