"""The steps of one writer in packed columns: about fifty bytes a step, whatever its records hold."""

from __future__ import annotations

import bisect
from array import array
from dataclasses import dataclass, field
from functools import partial

from agentdbg.model.records import Effect, Json, Kind, StepStatus
from agentdbg.store.records import RecordScanner

KINDS: tuple[str, ...] = tuple(Kind)
EFFECTS: tuple[str, ...] = ("", *Effect)
STATUSES: tuple[str, ...] = tuple(StepStatus)
UNKNOWN = 255
OPEN = STATUSES.index(StepStatus.OPEN)

_ROW_BITS = 40
_ROW_MASK = (1 << _ROW_BITS) - 1


def pack(writer: int, row: int) -> int:
    """Writer index and row in one number."""
    return writer << _ROW_BITS | row


def unpack(packed: int) -> tuple[int, int]:
    """The inverse of ``pack``."""
    return packed >> _ROW_BITS, packed & _ROW_MASK


_wide = partial(array, "Q")
_signed = partial(array, "q")
_word = partial(array, "I")
_half = partial(array, "H")
_byte = partial(array, "B")


@dataclass(slots=True, eq=False)
class WriterRows:
    """The steps that one writer recorded, a column each; row *i* is its *i*-th step.

    Attributes:
        name: The writer's id.
        index: Its place among the run's writers.
        scanner: Reads its file.
        info: Members of its ``writer`` record.
        clock: What to add to its monotonic time to get the time that all writers share; ``None`` before its first
            record.
        spawn: Packed row of the step that spawned its process.
        offsets: Byte offset of the intent.
        seqs: Sequence numbers, never falling; the rows in ``odd`` stand out of order and are found there.
        outcomes: Byte offset of the outcome plus one; 0 while open, for notes, and when another writer has it.
        keys: Ordering key, never falling: nanoseconds on the shared clock.
        parents: Packed row of the parent plus one; 0 for none.
        lanes: Index into the skeleton's lanes.
        attached: Offsets of chunks and the like that came while their step was open; ``attached_to`` is its sequence
            number.
        others: Offsets of the records that belong to no step; ``other_types`` is their index into the skeleton's types.
    """

    name: str
    index: int
    scanner: RecordScanner = field(default_factory=RecordScanner)
    info: dict[str, Json] | None = None
    clock: int | None = None
    spawn: int | None = None
    offsets: array[int] = field(default_factory=_wide)
    seqs: array[int] = field(default_factory=_wide)
    outcomes: array[int] = field(default_factory=_wide)
    keys: array[int] = field(default_factory=_signed)
    parents: array[int] = field(default_factory=_wide)
    lanes: array[int] = field(default_factory=_word)
    kinds: array[int] = field(default_factory=_byte)
    effects: array[int] = field(default_factory=_byte)
    statuses: array[int] = field(default_factory=_byte)
    odd: dict[int, int] = field(default_factory=dict)
    odd_rows: set[int] = field(default_factory=set)
    attached: array[int] = field(default_factory=_wide)
    attached_to: array[int] = field(default_factory=_wide)
    others: array[int] = field(default_factory=_wide)
    other_types: array[int] = field(default_factory=_half)
    records: int = 0
    highest: int = -1
    malformed: int = 0

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, offset: int, seq: int, key: int) -> int:
        """Begin a row; returns its number."""
        row = len(self.offsets)
        if row:
            last_seq, last_key = self.seqs[-1], self.keys[-1]
            if seq <= last_seq:
                self.odd.setdefault(seq, row)
                self.odd_rows.add(row)
                seq = last_seq
            if key < last_key:
                key = last_key
        self.seqs.append(seq)
        self.keys.append(key)
        self.offsets.append(offset)
        self.outcomes.append(0)
        self.parents.append(0)
        return row

    def find(self, seq: int) -> int | None:
        """The row whose step has that sequence number."""
        seqs = self.seqs
        row = len(seqs) - 1
        if row < 0 or seqs[row] != seq or self.odd:
            row = bisect.bisect_left(seqs, seq)
            if row == len(seqs) or seqs[row] != seq:
                return self.odd.get(seq)
        return row

    def missing(self) -> int:
        """How many sequence numbers never appeared between 0 and the last; damaged lines among them."""
        return max(0, self.highest + 1 - self.records)

    def records_of(self, row: int) -> list[int]:
        """Offsets of a row's records in this file: intent, what came while it was open, outcome."""
        start, outcome = self.offsets[row], self.outcomes[row]
        found = [start]
        if row not in self.odd_rows:
            seq = self.seqs[row]
            low = bisect.bisect_left(self.attached, start)
            high = bisect.bisect_left(self.attached, outcome - 1) if outcome else len(self.attached)
            found.extend(self.attached[i] for i in range(low, high) if self.attached_to[i] == seq)
        if outcome:
            found.append(outcome - 1)
        return found

    def raise_keys(self, row: int, above: int) -> bool:
        """Order a row, and with it those behind it, after ``above``; whether anything moved."""
        moved = False
        for i in range(row, len(self.keys)):
            if self.keys[i] > above:
                break
            self.keys[i] = above + 1
            moved = True
        return moved
