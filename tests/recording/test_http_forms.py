"""Multipart forms are written down by their parts: the line between them differs from request to request."""

from __future__ import annotations

from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.http_forms import parts_of
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey

GATE = Gate(RedactionKey(b"k" * 32, "k"), enabled=True)


def test_fields_and_files_are_told_apart_and_looked_at_by_name() -> None:
    files: Any = {"f": ("x.txt", b"hello", "text/plain"), "g": ("y.bin", b"\xff\x00")}
    request = httpx.Request("POST", "http://x", data={"note": "a b", "password": "hunter-Zq81kd"}, files=files)
    parts = parts_of(request.headers["content-type"], request.read(), GATE)
    assert parts is not None
    note, password, text, binary = parts
    assert note == {"name": "note", "content": "a b"}
    assert str(password["content"]).startswith("⟦R:")
    assert text == {"name": "f", "filename": "x.txt", "type": "text/plain", "content": "hello"}
    assert binary["content"] == b"\xff\x00"


def test_two_requests_of_the_same_form_are_the_same() -> None:
    requests = [httpx.Request("POST", "http://x", files={"f": ("x.txt", b"hello")}) for _ in range(2)]
    assert requests[0].read() != requests[1].read()
    first, second = (parts_of(each.headers["content-type"], each.read(), GATE) for each in requests)
    assert first == second and first


@given(st.binary(max_size=200), st.sampled_from(["multipart/form-data; boundary=b", "multipart/mixed", "text/plain"]))
def test_any_other_body_is_left_alone(body: bytes, content_type: str) -> None:
    assert parts_of(content_type, body, GATE) is None or body.endswith(b"--b--") or b"--b--" in body
