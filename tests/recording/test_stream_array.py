"""The objects of a JSON array come out as soon as they are whole, wherever the bytes are cut."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.recording.stream_array import ArrayFraming
from agentdbg.recording.stream_event import StreamEvent

VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('a"\\{}[],é🙂\n'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=5)
CUTS = st.lists(st.integers(0, 300), max_size=12)


def split(body: bytes, cuts: list[int]) -> tuple[list[StreamEvent], bytes]:
    framing = ArrayFraming()
    events: list[StreamEvent] = []
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    for start, end in pairwise(places):
        events += framing.feed(body[start:end])
    return events + framing.finish(), framing.rest()


@settings(deadline=None)
@given(objects=OBJECTS, cuts=CUTS, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
def test_every_object_is_an_event(objects: list[object], cuts: list[int], indent: int | None, ascii_only: bool) -> None:
    texts = [json.dumps(one, indent=indent, ensure_ascii=ascii_only).encode() for one in objects]
    body = b"[" + b"\n,\r\n".join(texts) + b"]\n"
    events, rest = split(body, cuts)
    assert [event.data for event in events if event.data is not None] == [text.decode() for text in texts]
    assert b"".join(event.raw for event in events) == body and not rest
    for event in events[:-1]:
        assert ArrayFraming().rebuild(event, event.data or "") == event.raw
        assert ArrayFraming().rebuild(event, '{"x":1}') == event.raw[: event.at] + b'{"x":1}'


@settings(deadline=None)
@given(body=st.text(st.sampled_from('[]{}",\\a ')).map(str.encode) | st.binary(), cuts=CUTS)
def test_any_bytes_are_kept_whatever_they_are(body: bytes, cuts: list[int]) -> None:
    events, rest = split(body, cuts)
    assert b"".join(event.raw for event in events) + rest == body
    assert (events, rest) == split(body, [])


def test_an_object_alone_is_an_event_and_a_cut_one_is_not() -> None:
    events, rest = split(b'{"error": {"code": 400}}', [])
    assert ([event.data for event in events], rest) == (['{"error": {"code": 400}}'], b"")
    events, rest = split(b'[{"a": 1},\n{"a": "}', [])
    assert ([event.data for event in events], rest) == (['{"a": 1}'], b',\n{"a": "}')


def test_what_stands_between_the_objects_is_looked_at_when_it_is_odd() -> None:
    events, _ = split(b'["key", {"a": 1}, {"b": 2}]', [])
    seen: list[bytes] = []

    def redact(data: bytes) -> bytes:
        seen.append(data)
        return data.replace(b"key", b"***")

    framing = ArrayFraming()
    cleaned = [framing.clean(event, redact) for event in events]
    assert seen == [b'["key", '] and cleaned[0].raw == b'["***", {"a": 1}' and cleaned[1] is events[1]
    assert framing.rebuild(cleaned[0], "{}") == b'["***", {}'
