"""A search through steps that can be done a piece at a time, so that a million of them never hold up a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from agentdbg.model.records import Step

AT_ONCE: Final = 2_000
"""Steps looked at within the key's own frame; what is left belongs on a worker thread."""


class Hunt:
    """Looks for the first step, in one direction, that satisfies a condition.

    Attributes:
        what: What is looked for, in words, for messages.
        otherwise: Where to go when there is none; ``None`` to stay and say so.
        found: Index of the step, once found.
        arrival: What to say once there.
        done: Whether the end was reached or a step was found.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        start: int,
        direction: int,
        wanted: Callable[[Step], bool],
        what: str,
        *,
        otherwise: int | None = None,
    ) -> None:
        """Prepare; nothing is looked at yet.

        Args:
            steps: Where to look.
            start: First index to look at.
            direction: 1 for forward, -1 for backward.
            wanted: The condition.
            what: What is looked for, in words.
            otherwise: Where to go when there is none.
        """
        self.what = what
        self.otherwise = otherwise
        self.arrival = ""
        self.found: int | None = None
        self.done = False
        self.direction = direction
        self._steps = steps
        self._next = start
        self._wanted = wanted

    def advance(self, limit: int | None = None) -> bool:
        """Look at up to ``limit`` further steps; ``True`` when the hunt is over."""
        end = len(self._steps) if self.direction > 0 else -1
        left = abs(end - self._next) if limit is None else limit
        while not self.done:
            if self._next == end or (self.direction > 0) == (self._next > end):
                self.done = True
            elif left <= 0:
                return False
            elif self._is_here():
                self.found = self._next
                self.done = True
            else:
                self._next += self.direction
                left -= 1
        return True

    def _is_here(self) -> bool:
        try:
            return self._wanted(self._steps[self._next])
        except IndexError:  # the files were truncated or replaced meanwhile
            return False
