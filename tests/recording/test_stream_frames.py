"""Binary event streams: cut anywhere they give the same messages; what is written again has the right checksums."""

from __future__ import annotations

import base64
import json
import zlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.recording.stream_event import StreamEvent
from agentdbg.recording.stream_frames import FrameFraming, Header, message, parse
from tests.support.provider_servers import event_frame, exception_frame, frame, wrapped_frame

CUTS = st.lists(st.integers(0, 900), max_size=12)
FRAMES = st.lists(
    st.sampled_from(
        [
            event_frame("contentBlockDelta", {"delta": {"text": "grüezi 🙂"}, "p": "abc"}),
            wrapped_frame({"type": "ping"}),
            exception_frame("throttlingException", "too many"),
            frame(b"", event_type="empty", message_type="event"),
            frame(b"\xff\x00binary", event_type="audio", message_type="event"),
            message([Header(b"n", 4, b"\0\0\0\1"), Header(b"yes", 0, b""), Header(b"id", 9, b"u" * 16)], b"{}"),
        ]
    ),
    max_size=5,
)


def split(body: bytes, cuts: list[int]) -> tuple[list[StreamEvent], bytes]:
    framing = FrameFraming()
    events: list[StreamEvent] = []
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    for start, end in pairwise(places):
        events += framing.feed(body[start:end])
    return events + framing.finish(), framing.rest()


@settings(deadline=None)
@given(frames=FRAMES, cuts=CUTS, tail=st.binary(max_size=40))
def test_the_same_messages_come_out_wherever_they_are_cut(frames: list[bytes], cuts: list[int], tail: bytes) -> None:
    body = b"".join(frames) + tail
    events, rest = split(body, cuts)
    assert [event.raw for event in events] == frames and rest == tail
    assert (events, rest) == split(body, [])


def test_messages_are_read() -> None:
    events, _ = split(
        event_frame("messageStart", {"role": "assistant"})
        + wrapped_frame({"type": "message_stop"})
        + exception_frame("modelStreamErrorException", "no")
        + frame(b"", message_type="error", error_code="500", error_message="bad day")
        + frame(b"\xff", event_type="audio", message_type="event"),
        [],
    )
    assert [(event.event, event.data) for event in events] == [
        ("messageStart", '{"role":"assistant"}'),
        ("chunk", '{"type": "message_stop"}'),
        ("exception:modelStreamErrorException", '{"message": "no"}'),
        ("exception:500: bad day", "{}"),
        ("audio", None),
    ]


@given(text=st.text(), old=st.text())
def test_a_message_written_again_is_valid_and_keeps_its_headers(text: str, old: str) -> None:
    for raw in (event_frame("contentBlockDelta", {"delta": old}), wrapped_frame({"delta": old})):
        (event,), _ = split(raw, [])
        assert event.data is not None and FrameFraming().rebuild(event, event.data)
        new = FrameFraming().rebuild(event, json.dumps({"delta": text}))
        (again,), rest = split(new, [])
        assert json.loads(again.data or "") == {"delta": text} and again.event == event.event and not rest
        assert parse(new)[0] == parse(raw)[0]
        assert int.from_bytes(new[8:12], "big") == zlib.crc32(new[:8])
        assert int.from_bytes(new[-4:], "big") == zlib.crc32(new[:-4])


def test_a_damaged_message_is_kept_but_not_read() -> None:
    raw = bytearray(event_frame("messageStop", {"stopReason": "end_turn"}))
    raw[30] ^= 1
    events, rest = split(bytes(raw) + event_frame("metadata", {}), [])
    assert [(event.event, event.data) for event in events] == [(None, None), ("metadata", "{}")] and not rest
    events, rest = split(b"<html>this is no such stream</html>", [3])
    assert not events and rest == b"<html>this is no such stream</html>"
    headers = frame(b"{}", event_type="x")
    cut_header = message([], headers[12:20])  # a payload that begins like headers is no header
    assert split(cut_header, [])[0][0].raw == cut_header


def test_texts_in_headers_and_beside_a_wrapped_text_are_redacted() -> None:
    def redact(data: bytes) -> bytes:
        return data.replace(b"secret-1", b"***") if b"secret-1" in data else data

    framing = FrameFraming()
    beside = json.dumps({"bytes": base64.b64encode(b"{}").decode(), "note": "secret-1"}).encode()
    bodies = [frame(b"{}", event_type="secret-1 here"), frame(beside, event_type="chunk"), frame(b"\xff secret-1")]
    for raw in bodies:
        (event,), _ = split(raw, [])
        cleaned = framing.clean(event, redact)
        assert b"secret-1" not in cleaned.raw and b"***" in cleaned.raw
        (again,), rest = split(cleaned.raw, [])
        assert again.data == event.data and not rest
    (event,), _ = split(wrapped_frame({"text": "secret-1"}), [])
    assert framing.clean(event, redact) is event


@pytest.mark.parametrize("size", [5, 12, 60, 100])
def test_of_a_cut_message_only_the_prelude_has_to_be_kept(size: int) -> None:
    framing = FrameFraming()
    rest = wrapped_frame({"text": "a long secret text, a long secret text"})[:size]
    framing.feed(rest)
    assert framing.rest() == rest and framing.withheld(rest) == rest[:12]


def test_the_beginning_of_a_wrapped_text_is_looked_at() -> None:
    whole = wrapped_frame({"text": "a long secret text, and more of it"})
    assert b"secret" in FrameFraming().inside(whole[: whole.index(b'","p"') - 5])
    plain = event_frame("contentBlockDelta", {"delta": {"text": "hello"}})[:-9]
    assert FrameFraming().inside(plain) is plain
