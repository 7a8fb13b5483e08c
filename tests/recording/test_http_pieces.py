"""A served body is read as it was recorded, however the client asks for it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.http_pieces import AsRead, PieceReader
from agentdbg.recording.http_served import ServedResponse


class Found:
    """A served response without a run behind it."""

    waits = False

    def __init__(self, pieces: list[bytes], *, ends_well: bool = True) -> None:
        self.pieces, self.ends_well = pieces, ends_well
        self.given = 0
        self.closed = False

    def taken(self) -> None:
        self.given += 1

    def past_the_end(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def reader(pieces: list[bytes], error: BaseException | None = None) -> PieceReader:
    found = Found(pieces, ends_well=error is None)
    return PieceReader(cast(ServedResponse, cast(Any, found)), lambda: error)


PIECES = st.lists(st.binary(max_size=9), max_size=8)


@given(PIECES)
def test_each_piece_comes_alone_and_the_last_one_ends_it(pieces: list[bytes]) -> None:
    body = reader(pieces)
    assert list(iter(body.some, b"")) == [piece for piece in pieces if piece]
    assert body.ended and body.some() == b""


@given(PIECES, st.integers(1, 5))
def test_no_more_comes_than_was_asked_for(pieces: list[bytes], most: int) -> None:
    body = reader(pieces)
    got = list(iter(lambda: body.some(most), b""))
    assert b"".join(got) == b"".join(pieces) and all(len(piece) <= most for piece in got)


@given(st.lists(st.sampled_from([b"a", b"b\n", b"\n", b"c\nd", b""]), max_size=9))
def test_lines_are_found_across_pieces(pieces: list[bytes]) -> None:
    async def lines() -> list[bytes]:
        body = reader(pieces)
        found = []
        while line := await body.until(b"\n"):
            found.append(line)
        return found

    assert asyncio.run(lines()) == b"".join(pieces).splitlines(keepends=True)


def test_a_recorded_error_comes_after_the_last_piece() -> None:
    body = reader([b"one", b"two"], OSError("dropped"))
    assert [body.some(), body.some()] == [b"one", b"two"]
    with pytest.raises(OSError, match="dropped"):
        body.some()


def test_a_body_read_with_its_encoding_is_kept_without_it() -> None:
    import gzip

    decoder = AsRead("gzip")
    assert decoder.decode(b"as it is") == b"as it is"
    decoder.raw = True
    assert decoder.decode(gzip.compress(b"hello")) + decoder.flush() == b"hello"
    unknown = AsRead("br")
    unknown.raw = True
    with pytest.raises(ValueError, match="cannot be undone"):
        unknown.decode(b"x")
