"""JSON lines come out whole wherever the bytes are cut, and can be written again with another text."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.recording.stream_event import StreamEvent
from agentdbg.recording.stream_lines import LineFraming

LINES = st.lists(
    st.sampled_from(
        [b'{"a": "\xc3\xa9\xf0\x9f\x99\x82"}', b"", b"  ", b"[1, 2]", b"not json", b'{"b": "\\n"}\r', b"\xff"]
    )
)
CUTS = st.lists(st.integers(0, 200), max_size=12)


def split(body: bytes, cuts: list[int]) -> tuple[list[StreamEvent], bytes]:
    framing = LineFraming()
    events: list[StreamEvent] = []
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    for start, end in pairwise(places):
        events += framing.feed(body[start:end])
    events += framing.finish()
    return events, framing.rest()


@settings(deadline=None)
@given(lines=LINES, cuts=CUTS, ended=st.booleans())
def test_the_same_lines_come_out_wherever_they_are_cut(lines: list[bytes], cuts: list[int], ended: bool) -> None:
    body = b"\n".join(lines) + (b"\n" if ended else b"")
    events, rest = split(body, cuts)
    assert b"".join(event.raw for event in events) + rest == body
    assert (events, rest) == split(body, [])


def test_a_last_line_needs_no_line_feed_when_it_is_whole() -> None:
    events, rest = split(b'{"a": 1}\n{"a": 2}', [])
    assert ([event.data for event in events], rest) == (['{"a": 1}', '{"a": 2}'], b"")
    events, rest = split(b'{"a": 1}\n{"a": ', [])
    assert ([event.data for event in events], rest) == (['{"a": 1}'], b'{"a": ')


@pytest.mark.parametrize("raw", [b'{"a": 1}\n', b' \t{"a": 1} \r\n', b'\x1e{"a": 1}\n', b'\xef\xbb\xbf{"a": 1}\n'])
def test_a_line_written_again_keeps_what_is_around_it(raw: bytes) -> None:
    (event,), _ = split(raw, [])
    assert event.data == '{"a": 1}'
    framing = LineFraming()
    assert framing.rebuild(event, event.data) == raw
    assert framing.rebuild(event, '{"b": "\ud800"}') == raw.replace(b'{"a": 1}', b'{"b": "\\ud800"}')


def test_a_long_stream_in_small_pieces_comes_out_whole() -> None:
    body = b"".join(json.dumps({"n": n}).encode() + b"\n" for n in range(2000))
    events, rest = split(body, list(range(0, len(body), 7)))
    assert [json.loads(event.data or "")["n"] for event in events] == list(range(2000)) and not rest
