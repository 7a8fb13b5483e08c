"""Only the steps that hold all words of a filter."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from agentdbg.debugging.skeletons import skeleton_text
from agentdbg.model.records import Step

_CHUNK: Final = 1_000


class Filtered:
    """The steps that a filter leaves.

    Attributes:
        words: What every shown step holds: in kind, name, effect, status, error, model, id or hash.
        indexes: Their indexes, in order.
    """

    def __init__(self, words: str) -> None:
        """Show no step yet."""
        self.words = words
        self.indexes: array[int] = array("Q")
        self._needles = words.casefold().split()
        self._looked = 0

    def look(self, steps: Sequence[Step], stop: Callable[[], bool] = lambda: False) -> bool:
        """Look at the steps not looked at yet; ``False`` when it was told to stop."""
        count = len(steps)
        while self._looked < count:
            if stop():
                return False
            end = min(self._looked + _CHUNK, count)
            try:
                self.indexes.extend(at for at in range(self._looked, end) if self.holds(steps[at]))
            except IndexError:  # the files were truncated or replaced meanwhile
                return True
            self._looked = end
        return True

    def holds(self, step: Step) -> bool:
        """Whether a step is shown."""
        text = skeleton_text(step)
        return all(needle in text for needle in self._needles)

    def row_of(self, index: int) -> int:
        """The row of a step, or of the first shown one after it."""
        return bisect_left(self.indexes, index)

    def index_at(self, row: int) -> int:
        """The step in a row; beyond the ends is the end."""
        return self.indexes[min(max(row, 0), len(self.indexes) - 1)] if self.indexes else 0

    def shows(self, index: int) -> bool:
        """Whether a step is shown."""
        row = self.row_of(index)
        return row < len(self.indexes) and self.indexes[row] == index

    def nearest(self, index: int) -> int:
        """The shown step at an index, after it, else before it."""
        return self.index_at(self.row_of(index))
