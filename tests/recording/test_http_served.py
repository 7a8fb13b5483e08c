"""A recorded response is given back in the recorded pieces and its content encoding."""

from __future__ import annotations

import zlib
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.canonical import dumps
from agentdbg.model.records import StepStatus
from agentdbg.recording.calls import Served
from agentdbg.recording.http_served import _coded, _head, body_pieces


def served(result: bytes | None = None, stream: list[bytes] | None = None, **attrs: Any) -> Served:
    rows = [[0.5, event.decode("utf-8", "surrogateescape")] for event in stream or []]
    halves = (dumps(rows[: len(rows) // 2]), dumps(rows[len(rows) // 2 :])) if stream else ()
    return Served("w:1", StepStatus.OK, result, None, {"http_status": 200, **attrs}, halves)


EVENTS = [b"data: one\n\n", b"data: two \xff\n\n", b": three\n\n", b"data: four\n\n"]


def test_a_stream_comes_in_the_pieces_that_were_read() -> None:
    whole = b"".join(EVENTS)
    sizes = [5, 0, 20, len(whole) - 25]
    assert [len(piece) for piece in body_pieces(served(stream=EVENTS, chunks=sizes))] == sizes
    assert b"".join(body_pieces(served(stream=EVENTS, chunks=sizes))) == whole


def test_a_redacted_stream_comes_with_the_events_that_each_piece_completed() -> None:
    first, second, third = body_pieces(served(stream=EVENTS, chunk_events=[0, 2, 1]))
    assert first and second and first + second == EVENTS[0] + EVENTS[1]
    assert third == EVENTS[2] + EVENTS[3]
    assert body_pieces(served(stream=EVENTS)) == EVENTS
    assert body_pieces(served(stream=EVENTS, chunks=[1, 2], chunk_events=[9])) == EVENTS
    assert body_pieces(served(stream=EVENTS, chunk_events=[])) == [b"".join(EVENTS)]


@given(body=st.binary(max_size=80), sizes=st.lists(st.integers(0, 30), min_size=1, max_size=9))
def test_a_body_keeps_its_bytes_and_the_number_of_its_pieces(body: bytes, sizes: list[int]) -> None:
    pieces = body_pieces(served(body, chunks=sizes))
    assert len(pieces) == len(sizes)
    assert b"".join(pieces) == body
    assert body_pieces(served(body)) == ([body] if body else [])


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "deflate, gzip", "identity"])
def test_each_piece_of_an_encoded_body_can_be_read_when_it_arrives(encoding: str) -> None:
    attrs: dict[str, Any] = {"headers": [["content-encoding", encoding], ["x-a", "⟦R:email:9:0123456789ab⟧ é"]]}
    headers, coders = _head(attrs)
    assert httpx.Headers(headers)["x-a"] == "⟦R:email:9:0123456789ab⟧ é"
    pieces = _coded([b"first ", b"", b"second"], coders, attrs, whole=True)
    decoded = httpx.Response(200, headers=headers, stream=httpx.ByteStream(b"".join(pieces)))
    assert decoded.read() == b"first second"
    if coders == ["gzip"]:
        unpack = zlib.decompressobj(wbits=31)
        assert [unpack.decompress(piece) for piece in pieces] == [b"first ", b"", b"second"] and unpack.eof


def test_an_encoding_that_cannot_be_made_is_not_claimed() -> None:
    attrs: dict[str, Any] = {"headers": [["content-encoding", "br"], ["x-a", "1"], ["bad"], "worse"]}
    assert _head(attrs) == ([(b"x-a", b"1")], [])
    assert _head({**attrs, "encoded": True})[0][0] == (b"content-encoding", b"br"), "the body is as it came"


def test_an_encoding_that_broke_breaks_again() -> None:
    attrs: dict[str, Any] = {"headers": [["content-encoding", "gzip"]], "encoding_breaks": True}
    headers, coders = _head(attrs)
    pieces = _coded([b"good part"], coders, attrs, whole=False)
    response = httpx.Response(200, headers=headers, stream=_Pieces(pieces))
    got: list[bytes] = []
    with pytest.raises(httpx.DecodingError):
        got.extend(response.iter_bytes())
    reading = httpx.Response(200, headers=headers, stream=_Pieces(pieces)).iter_bytes()
    assert next(reading) == b"good part"


class _Pieces(httpx.SyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Any:
        return iter(self._pieces)
