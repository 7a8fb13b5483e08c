"""The display order of a run's steps, merged over its writers.

Within a writer its own sequence; a step after the step that spawned its process and after its parent; otherwise the
shared clock (monotonic within one boot, wall time between boots).
"""

from __future__ import annotations

import bisect
import heapq
from array import array
from collections.abc import Iterator, Sequence

from agentdbg.store.columns import WriterRows, pack, unpack


class DisplayOrder:
    """Positions of packed rows. One writer needs no table; several are merged as they grow.

    Attributes:
        changes: Rises when steps that were already placed have moved.
    """

    def __init__(self, writers: Sequence[WriterRows]) -> None:
        self.changes = 0
        self._writers = writers
        self._order: array[int] = array("Q")
        self._placed: dict[int, int] = {}
        self._only: int | None = None
        self._count = 0
        self._links: dict[tuple[int, int], int] = {}
        self._new_links = False

    def __len__(self) -> int:
        return self._count

    def must_follow(self, writer: int, row: int, parent: int) -> None:
        """Order a row of one writer after a step of another."""
        first = self._links.get((writer, parent))
        if unpack(parent)[0] != writer and (first is None or row < first):
            self._links[writer, parent] = row
            self._new_links = True

    def at(self, position: int) -> int:
        """The packed row at a position."""
        return self._order[position] if self._only is None else pack(self._only, position)

    def position(self, packed: int) -> int:
        """The position of a packed row."""
        if self._only is not None:
            return unpack(packed)[1]
        return bisect.bisect_left(self._order, self._rank(packed), key=self._rank)

    def update(self) -> None:
        """Place the rows that came since the last call."""
        moved = self._raise_keys() if self._new_links else False
        filled = [rows.index for rows in self._writers if len(rows)]
        before = self._count
        self._count = sum(map(len, self._writers))
        if len(filled) <= 1:
            self._only = filled[0] if filled else None
        elif moved or self._only is not None or not len(self._order):
            self._only = None
            self._rebuild(before)
        elif self._count > before:
            self._insert()
        for rows in self._writers:
            self._placed[rows.index] = len(rows)

    def _rank(self, packed: int) -> tuple[int, int]:
        writer, row = unpack(packed)
        return self._writers[writer].keys[row], packed

    def _ranks(self, rows: WriterRows, start: int = 0) -> Iterator[tuple[int, int]]:
        base = pack(rows.index, 0)
        return ((rows.keys[row], base | row) for row in range(start, len(rows)))

    def _rebuild(self, before: int) -> None:
        self._order = array("Q", (packed for _, packed in heapq.merge(*map(self._ranks, self._writers))))
        self.changes += bool(before)

    def _insert(self) -> None:
        fresh = [rank for rows in self._writers for rank in self._ranks(rows, self._placed.get(rows.index, 0))]
        cut = bisect.bisect_left(self._order, min(fresh), key=self._rank)
        if cut < len(self._order):
            fresh.extend(map(self._rank, self._order[cut:]))
            del self._order[cut:]
            self.changes += 1
        fresh.sort()
        self._order.extend(packed for _, packed in fresh)

    def _raise_keys(self) -> bool:
        """Move rows behind the steps they follow.

        A cycle, which only a forged record can hold, ends after a few rounds.
        """
        moved = False
        for _ in range(len(self._writers) + 1):
            again = False
            for (writer, parent), row in self._links.items():
                owner, parent_row = unpack(parent)
                again |= self._writers[writer].raise_keys(row, self._writers[owner].keys[parent_row])
            moved |= again
            if not again:
                break
        self._new_links = False
        return moved
