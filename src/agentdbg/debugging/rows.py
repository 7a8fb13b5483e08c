"""The rows of a step list: every step, or those that a filter leaves."""

from __future__ import annotations

from agentdbg.debugging.filtering import Filtered


class Rows:
    """What a session shows.

    Attributes:
        filtered: The steps that a filter leaves; ``None`` where all are shown.
        cursor: Index of the selected step.
        message: What the last action has to say.
    """

    filtered: Filtered | None
    cursor: int
    message: str

    @property
    def count(self) -> int:
        """Number of steps."""
        raise NotImplementedError

    def goto(self, index: int) -> None:
        """Select a step."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """How many steps are shown."""
        return len(self.filtered.indexes) if self.filtered is not None else self.count

    @property
    def row(self) -> int:
        """The row of the selected step."""
        return self.filtered.row_of(max(self.cursor, 0)) if self.filtered is not None else self.cursor

    def index_at(self, row: int) -> int:
        """The step in a row."""
        return self.filtered.index_at(row) if self.filtered is not None else row

    def filter(self, filtered: Filtered | None) -> None:
        """Show only the steps that a filter leaves; the cursor goes to the nearest of them."""
        self.filtered = None
        if filtered is not None and not filtered.indexes:
            self.message = f"no step holds {filtered.words}"
        elif filtered is not None:
            self.goto(filtered.nearest(max(self.cursor, 0)))
            self.filtered = filtered
