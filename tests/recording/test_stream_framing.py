"""Which responses are read event by event."""

from __future__ import annotations

import pytest

from agentdbg.recording.provider_parts import CHAT, GEMINI
from agentdbg.recording.sse import SseSplitter
from agentdbg.recording.stream_array import ArrayFraming
from agentdbg.recording.stream_frames import FrameFraming
from agentdbg.recording.stream_framing import framing_of
from agentdbg.recording.stream_lines import LineFraming


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/event-stream; charset=utf-8", SseSplitter),
        ("Application/X-NDJSON", LineFraming),
        ("application/jsonl", LineFraming),
        ("application/stream+json", LineFraming),
        ("application/vnd.amazon.eventstream", FrameFraming),
        ("application/json", type(None)),
        ("", type(None)),
    ],
)
def test_the_content_type_says_how_a_body_is_cut(content_type: str, kind: type) -> None:
    assert type(framing_of(content_type)) is kind


def test_a_json_array_is_a_stream_only_where_gemini_was_asked_for_one() -> None:
    assert isinstance(framing_of("application/json; charset=UTF-8", GEMINI, streams=True), ArrayFraming)
    assert framing_of("application/json", GEMINI) is None
    assert framing_of("application/json", CHAT, streams=True) is None
