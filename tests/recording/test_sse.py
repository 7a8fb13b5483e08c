"""A stream of Server-Sent Events is cut into events without losing or changing a byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai._streaming import SSEDecoder

from agentdbg.recording.sse import SseSplitter, is_event_stream, rebuild
from agentdbg.recording.stream_event import StreamEvent

LINES = st.one_of(
    st.sampled_from(
        [
            b"data: x", b"data:x", b"data:  two", b"data", b"data:", b"event: ping", b"event:", b"event: a: b",
            b": comment", b":", b"id: 7", b"retry: 5", b"nonsense", b"data: \xe2\x82\xac", b"data: \xff\xfe",
            b"\xef\xbb\xbf", b"\xef\xbb\xbfdata: marked", b"data: [DONE]", b"", b"",
        ]
    ),
    st.binary(max_size=12),
)  # fmt: skip
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=14).map(
    lambda lines: b"".join(line + end for line, end in lines)
)
CUTS = st.lists(st.integers(min_value=0, max_value=200), max_size=20)


def split(stream: bytes, cuts: list[int]) -> tuple[list[StreamEvent], bytes]:
    splitter = SseSplitter()
    events: list[StreamEvent] = []
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    for start, end in pairwise(places):
        events += splitter.feed(stream[start:end])
    events += splitter.finish()
    return events, splitter.rest()


def one(stream: bytes) -> StreamEvent:
    events, rest = split(stream, [])
    assert rest == b""
    (event,) = events
    return event


@settings(deadline=None)
@given(stream=STREAMS, cuts=CUTS)
def test_the_same_events_come_out_wherever_the_stream_is_cut(stream: bytes, cuts: list[int]) -> None:
    events, rest = split(stream, cuts)
    assert b"".join(event.raw for event in events) + rest == stream
    assert (events, rest) == split(stream, [])
    assert (events, rest) == split(stream, list(range(len(stream))))


@settings(deadline=None)
@given(stream=STREAMS, cuts=CUTS)
def test_at_every_moment_events_and_rest_make_up_what_was_fed(stream: bytes, cuts: list[int]) -> None:
    splitter = SseSplitter()
    seen = fed = b""
    for start in range(0, len(stream), 3):
        seen += b"".join(event.raw for event in splitter.feed(stream[start : start + 3]))
        fed += stream[start : start + 3]
        assert seen + splitter.rest() == fed


@settings(deadline=None)
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(
                ["data: x", "data:y", "data: €", "event: e", ": c", "id: 1", "retry: 3", "data", "", "", "odd"]
            ),
            st.sampled_from(["\n", "\r\n", "\r"]),
        ),
        max_size=16,
    ),
    cuts=CUTS,
)
def test_events_carry_the_data_that_the_openai_sdk_reads(lines: list[tuple[str, str]], cuts: list[int]) -> None:
    stream = "".join(line + end for line, end in lines).encode()
    theirs = [(sse.event, sse.data) for sse in SSEDecoder().iter_bytes(iter([stream])) if sse.data]
    events, _ = split(stream, cuts)
    assert [(event.event, event.data) for event in events if event.data] == theirs


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_ending_separates_events(end: bytes) -> None:
    stream = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"data: 3", b"", b""])
    events, rest = split(stream, [])
    assert [(event.event, event.data) for event in events] == [("a", "1"), (None, "2\n3")]
    assert rest == b""


def test_a_line_feed_that_comes_late_still_belongs_to_its_carriage_return() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: 1\r\n\r") == []
    (event,) = splitter.feed(b"\ndata")
    assert event.raw == b"data: 1\r\n\r\n"
    assert splitter.rest() == b"data"


def test_an_event_ended_by_a_carriage_return_is_there_when_the_stream_ends() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: 1\r\r") == []
    assert splitter.rest() == b"data: 1\r\r"
    assert [event.data for event in splitter.finish()] == ["1"]
    assert splitter.rest() == b""


def test_a_character_cut_in_two_is_whole_again() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: \xe2\x82") == []
    assert [event.data for event in splitter.feed(b"\xac\n\n")] == ["€"]


def test_an_unfinished_event_stays_in_the_rest() -> None:
    events, rest = split(b"data: 1\n\ndata: cut", [])
    assert [event.data for event in events] == ["1"]
    assert rest == b"data: cut"


def test_comments_and_blank_lines_are_kept_but_hold_no_data() -> None:
    events, _ = split(b": keep-alive\n\n\nid: 3\nretry: 100\n\n", [])
    assert [event.data for event in events] == [None, None, None]
    assert [event.raw for event in events] == [b": keep-alive\n\n", b"\n", b"id: 3\nretry: 100\n\n"]


def test_a_byte_order_mark_is_skipped_at_the_start_only() -> None:
    events, _ = split(b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", [])
    assert [event.data for event in events] == ["1", None]


def test_an_empty_data_line_is_data() -> None:
    assert one(b"data\n\n").data == ""
    assert one(b"data:\ndata:\n\n").data == "\n"


def test_an_event_of_several_megabytes_in_small_chunks_comes_out_whole() -> None:
    splitter = SseSplitter()
    payload = b"x" * 4_000_000
    stream = b"data: " + payload + b"\n\n"
    events = [event for start in range(0, len(stream), 1000) for event in splitter.feed(stream[start : start + 1000])]
    assert [len(event.data or "") for event in events] == [len(payload)]


def test_rebuilding_replaces_the_data_and_keeps_the_rest() -> None:
    event = one(b": note\r\nevent: delta\r\nid: 9\r\ndata: {\r\ndata: }\r\nretry: 5\r\n\r\n")
    assert rebuild(event, "[]") == b": note\r\nevent: delta\r\nid: 9\r\ndata: []\r\nretry: 5\r\n\r\n"


def test_rebuilding_keeps_the_missing_space_after_the_colon() -> None:
    assert rebuild(one(b"data:{}\n\n"), "[]") == b"data:[]\n\n"


def test_rebuilding_writes_a_lone_surrogate_as_its_json_escape() -> None:
    assert rebuild(one(b"data: 1\n\n"), '"\ud800é"') == b'data: "\\ud800\xc3\xa9"\n\n'


@settings(deadline=None)
@given(
    stream=STREAMS,
    data=st.text(st.characters(exclude_categories=["Cs"]), max_size=20).filter(lambda text: "\r" not in text),
)
def test_a_rebuilt_event_reads_as_the_same_event_with_the_new_data(stream: bytes, data: str) -> None:
    events, _ = split(stream, [])
    rebuilt = b"".join(rebuild(event, data) for event in events)
    again, rest = split(rebuilt, [])
    assert rest == b""
    assert [(event.event, event.data) for event in again] == [(event.event, data) for event in events]


@settings(deadline=None)
@given(stream=STREAMS)
def test_rebuilding_with_unchanged_single_line_data_changes_nothing(stream: bytes) -> None:
    for event in split(stream, [])[0]:
        wellformed = event.raw.count(b"data") == 1 and b"data:" in event.raw and b"\xff" not in event.raw
        if event.data is not None and wellformed and "\ufffd" not in event.data:
            assert rebuild(event, event.data) == event.raw


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/event-stream", True),
        ("Text/Event-Stream; charset=utf-8", True),
        ("application/json", False),
        ("text/event-streams", False),
        ("", False),
        (None, False),
    ],
)
def test_event_streams_are_known_by_their_content_type(content_type: str | None, expected: bool) -> None:
    assert is_event_stream(content_type) is expected
