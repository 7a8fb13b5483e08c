"""A request written down is the same request again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.asgi_entry import (
    arguments_of,
    body_bytes,
    body_value,
    raw_of,
    scope_facts,
    scope_of,
    text_of,
    way_of,
)
from agentdbg.redaction.gate import Gate

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WRITERS = (
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
)


@given(JSON, st.sampled_from(WRITERS))
def test_a_json_body_comes_back_byte_for_byte_however_a_client_writes_it(value: object, write: Any) -> None:
    raw = write(value).encode("utf-8", "surrogatepass")
    found = body_value(raw, "application/json", Gate(enabled=False))
    way = way_of(raw, found)
    assert way is not None
    assert body_bytes(found, way) == raw


@given(st.binary(max_size=60))
def test_any_other_body_comes_back_byte_for_byte(raw: bytes) -> None:
    found = body_value(raw, "application/octet-stream", Gate(enabled=False))
    way = way_of(raw, found)
    if raw:
        assert way is None or body_bytes(found, way) == raw


@given(st.binary(max_size=40))
def test_header_bytes_come_back(raw: bytes) -> None:
    assert raw_of(text_of(raw)) == raw


@pytest.mark.parametrize("text", ["⟦R:field:12:0123456789ab⟧", "Bearer ⟦R:field:12:0123456789ab⟧"])
def test_placeholders_come_back_too(text: str) -> None:
    assert text_of(raw_of(text)) == text


def test_a_scope_made_of_what_was_written_down_says_the_same() -> None:
    gate = Gate(enabled=False)
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/a b",
        "raw_path": b"/a%20b",
        "query_string": b"q=1&r=%2F",
        "headers": [(b"content-type", b"application/json"), (b"x-name", "Zoë".encode("latin-1"))],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80),
        "scheme": "https",
        "http_version": "2",
        "root_path": "/api",
    }
    made = scope_of(scope_facts(scope, gate), arguments_of(scope, b"", gate), {"a": 1})
    assert {key: made[key] for key in scope} == scope
    assert made["state"] == {"a": 1}


def test_a_form_without_its_secrets_is_still_a_form() -> None:
    raw = b"user=ann&password=s3cr3t-s3cr3t-1&page=2"
    found = body_value(raw, "application/x-www-form-urlencoded", Gate())
    way = way_of(raw, found)
    assert way == "text"
    sent = body_bytes(found, way)
    assert sent.startswith(b"user=ann&password=")
    assert b"s3cr3t" not in sent
