"""Rows are found again by their sequence number, whatever order they came in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.store.columns import WriterRows, pack, unpack


@given(st.integers(0, 2**20), st.integers(0, 2**39))
def test_packed_rows_unpack(writer: int, row: int) -> None:
    assert unpack(pack(writer, row)) == (writer, row)


@given(st.lists(st.integers(0, 30), max_size=40))
def test_every_sequence_number_is_found_at_its_first_row(seqs: list[int]) -> None:
    rows = WriterRows("w", 0)
    for i, seq in enumerate(seqs):
        rows.append(i, seq, 0)
    assert [rows.find(seq) for seq in range(31)] == [seqs.index(seq) if seq in seqs else None for seq in range(31)]
    assert list(rows.seqs) == sorted(rows.seqs)


@given(st.lists(st.integers(-5, 50), min_size=1, max_size=20), st.integers(-5, 60), st.data())
def test_keys_never_fall_and_can_be_raised(keys: list[int], above: int, data: st.DataObject) -> None:
    rows = WriterRows("w", 0)
    for i, key in enumerate(keys):
        rows.append(i, i, key)
    row = data.draw(st.integers(0, len(keys) - 1))
    before = list(rows.keys)
    moved = rows.raise_keys(row, above)
    assert list(rows.keys) == sorted(rows.keys)
    assert rows.keys[row] > above
    assert moved is (before != list(rows.keys))
    assert list(rows.keys[:row]) == before[:row]


def test_missing_numbers_are_counted() -> None:
    rows = WriterRows("w", 0)
    assert rows.missing() == 0
    rows.records, rows.highest = 3, 9
    assert rows.missing() == 7
