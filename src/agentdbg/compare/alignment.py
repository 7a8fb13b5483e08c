"""Aligns two sequences: which items are the same, which changed, which stand on one side only.

Common ends are trimmed, items that can have no partner are left out, and the longest common subsequence of what is left
is found exactly: by patience where items are unique, else with a bit for each item. The work is bounded by a number of
cells, not by a clock, so that the same two sequences always give the same answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

SAME, CHANGED, ADDED, REMOVED = "=", "~", "+", "-"
MAX_CELLS: Final = 400_000_000
"""Size of the largest table that is computed: about 0.3 s and 50 MB."""
APPROXIMATE: Final = "too long for an exact alignment: lined up at the items that occur once"
_STOP_EVERY = 128

Stop: TypeAlias = "Callable[[], bool]"
Match: TypeAlias = "tuple[int, int]"
Key: TypeAlias = "Callable[[int], Hashable]"
"""What identifies the item at a place."""


class Stopped(Exception):
    """The caller no longer wants the answer."""


class Row(NamedTuple):
    """One row of an alignment: its sign, and the places of the item on either side (``None``: not there)."""

    sign: str
    i: int | None
    j: int | None


@dataclass(frozen=True, slots=True)
class Alignment:
    """Attributes:
    rows: Every item of both sides, in order.
    note: Empty, or how the answer falls short of an exact one.
    """

    rows: tuple[Row, ...]
    note: str = ""

    @property
    def same(self) -> bool:
        """Whether the sequences are equal."""
        return all(row.sign == SAME for row in self.rows)


def never() -> bool:
    """Nobody asks to stop."""
    return False


def align(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    *,
    alike: Sequence[tuple[Key, Key]] = (),
    should_stop: Stop = never,
) -> Alignment:
    """Align two sequences of hashes.

    Args:
        a: What identifies each item of the first side.
        b: The same for the second side.
        alike: Looser identities of the same items, one pair of sequences each, tried in order: items between two equal
            ones that agree in it are versions of each other (``~``). Without any, items are paired one by one where as
            many were removed as were added.
        should_stop: Asked now and then.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    finder = Finder(should_stop)
    rows: list[Row] = []
    for block in finder.blocks(a, b):
        rows.extend(Row(SAME, block.i + k, block.j + k) for k in range(block.same))
        rows.extend(changed_rows(finder, block, alike))
    return Alignment(tuple(rows), finder.note)


class Block(NamedTuple):
    """A stretch of equal items followed by one of others: ``removed`` items of the one, ``added`` of the other."""

    i: int
    j: int
    same: int
    removed: range
    added: range


def blocks_of(pairs: Sequence[Match], i: int, j: int, end_i: int, end_j: int) -> Iterator[Block]:
    """Cut a stretch into blocks at its matched pairs (rising in both)."""
    at = 0
    while True:
        start_i, start_j = i, j
        while at < len(pairs) and pairs[at] == (i, j):
            i, j, at = i + 1, j + 1, at + 1
        next_i, next_j = pairs[at] if at < len(pairs) else (end_i, end_j)
        yield Block(start_i, start_j, i - start_i, range(i, next_i), range(j, next_j))
        i, j = next_i, next_j
        if at == len(pairs):
            return


class Finder:
    """Finds common subsequences within one budget of work.

    Attributes:
        note: Set when some answer was not exact.
    """

    def __init__(self, should_stop: Stop = never, cells: int = MAX_CELLS) -> None:
        self.note = ""
        self._stop = should_stop
        self._cells = cells

    def blocks(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> Iterator[Block]:
        """Equal and other stretches of two whole sequences, in order."""
        return blocks_of(self.matches(a, b), 0, 0, len(a), len(b))

    def matches(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Match]:
        """Pairs of places of equal items, rising in both: as many as can be, unless ``note`` says otherwise."""
        shortest = min(len(a), len(b))
        front = 0
        while front < shortest and a[front] == b[front]:
            front += 1
        back = 0
        while back < shortest - front and a[-1 - back] == b[-1 - back]:
            back += 1
        pairs = [(k, k) for k in range(front)]
        pairs += self._middle(a, b, range(front, len(a) - back), range(front, len(b) - back))
        pairs += [(len(a) - k, len(b) - k) for k in range(back, 0, -1)]
        return pairs

    def _middle(self, a: Sequence[Hashable], b: Sequence[Hashable], left: range, right: range) -> list[Match]:
        common = {b[j] for j in right}.intersection(a[i] for i in left)
        if not common:
            return []
        places_a, places_b = [i for i in left if a[i] in common], [j for j in right if b[j] in common]
        if len(places_a) == len(places_b) == len(common):
            where = {b[j]: j for j in places_b}
            return _rising([(i, where[a[i]]) for i in places_a])
        cells = len(places_a) * len(places_b)
        if cells > self._cells:
            return self._at_anchors(a, b, places_a, places_b)
        self._cells -= cells
        return self._table([a[i] for i in places_a], [b[j] for j in places_b], places_a, places_b)

    def _table(
        self, a: Sequence[Hashable], b: Sequence[Hashable], places_a: Sequence[int], places_b: Sequence[int]
    ) -> list[Match]:
        """Longest common subsequence with one bit for each item of ``a`` and one integer for each item of ``b``."""
        masks: dict[Hashable, int] = {}
        for i, item in enumerate(a):
            masks[item] = masks.get(item, 0) | 1 << i
        every = (1 << len(a)) - 1
        state = every
        states = [state]
        for number, item in enumerate(b):
            if number % _STOP_EVERY == 0 and self._stop():
                raise Stopped
            hits = state & masks[item]
            state = ((state + hits) | (state - hits)) & every
            states.append(state)
        i, j, pairs = len(a), len(b), []
        while i and j:
            if states[j] >> (i - 1) & 1:
                i -= 1
            elif not states[j - 1] >> (i - 1) & 1:
                j -= 1
            else:
                i, j = i - 1, j - 1
                pairs.append((places_a[i], places_b[j]))
        pairs.reverse()
        return pairs

    def _at_anchors(
        self, a: Sequence[Hashable], b: Sequence[Hashable], places_a: Sequence[int], places_b: Sequence[int]
    ) -> list[Match]:
        """Pairs of the items that occur once on both sides, and of the equal ones right beside them."""
        self.note = APPROXIMATE
        once_a, once_b = (
            {item for item, count in Counter(side[k] for k in places).items() if count == 1}
            for side, places in ((a, places_a), (b, places_b))
        )
        where = {b[j]: j for j in places_b if b[j] in once_b}
        anchors = _rising([(i, where[a[i]]) for i in places_a if a[i] in once_a and a[i] in where])
        low, high = (places_a[0], places_b[0]), (places_a[-1] + 1, places_b[-1] + 1)
        pairs: list[Match] = []
        for number, (i, j) in enumerate([*anchors, high]):
            if number % _STOP_EVERY == 0 and self._stop():
                raise Stopped
            while low[0] < i and low[1] < j and a[low[0]] == b[low[1]]:
                pairs.append(low)
                low = low[0] + 1, low[1] + 1
            back: list[Match] = []
            x, y = i - 1, j - 1
            while x >= low[0] and y >= low[1] and a[x] == b[y]:
                back.append((x, y))
                x, y = x - 1, y - 1
            pairs.extend(reversed(back))
            if (i, j) != high or number < len(anchors):
                pairs.append((i, j))
            low = i + 1, j + 1
        return pairs


def _rising(pairs: Sequence[Match]) -> list[Match]:
    """The longest choice of pairs, sorted by their first place, whose second places rise as well."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(j)
            last.append(number)
        else:
            ends[length], last[length] = j, number
    chosen: list[Match] = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    chosen.reverse()
    return chosen


def changed_rows(finder: Finder, block: Block, alike: Sequence[tuple[Key, Key]]) -> Iterator[Row]:
    """Rows of a block's items that are not equal; those that are versions of each other are found as ``align`` says."""
    if not block.removed or not block.added or not alike:
        yield from _plain(block, pair=not alike and len(block.removed) == len(block.added))
        return
    (key_a, key_b), looser = alike[0], alike[1:]
    inner = finder.matches([key_a(i) for i in block.removed], [key_b(j) for j in block.added])
    pairs = [(block.removed[x], block.added[y]) for x, y in inner]
    stretch = (block.removed.start, block.added.start, block.removed.stop, block.added.stop)
    for part in blocks_of(pairs, *stretch):
        yield from (Row(CHANGED, part.i + k, part.j + k) for k in range(part.same))
        if looser:
            yield from changed_rows(finder, part, looser)
        else:
            yield from _plain(part, pair=False)


def _plain(block: Block, *, pair: bool) -> Iterator[Row]:
    if pair:
        yield from (Row(CHANGED, i, j) for i, j in zip(block.removed, block.added, strict=True))
    else:
        yield from (Row(REMOVED, i, None) for i in block.removed)
        yield from (Row(ADDED, None, j) for j in block.added)
