"""Text of an event as bytes."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.stream_event import as_utf8


@given(st.text(st.characters() | st.sampled_from("\ud800\udfff🙂")))
def test_json_in_utf8_is_the_same_json(text: str) -> None:
    written = as_utf8(json.dumps(text, ensure_ascii=False))
    assert json.loads(written.decode("utf-8")) == text
