"""A replayed program may put a served placeholder into a header; an agent at work gets its own error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import httpx2
import pytest

from agentdbg.recording import http_headers, process

MARK = "⟦R:openai_key:51:0123456789ab⟧"


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def module(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(request.param.Headers, "__setitem__", request.param.Headers.__setitem__)
    models = request.param._models
    monkeypatch.setattr(models, "_normalize_header_value", models._normalize_header_value)
    http_headers.take_placeholders(request.param)
    return request.param


def test_a_replay_carries_placeholders_in_headers(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "recorder", lambda: SimpleNamespace(answerer=object()))
    request = module.Request("GET", "http://a/", headers={"authorization": f"Bearer {MARK}"}, cookies={"sid": MARK})
    assert request.headers["authorization"] == f"Bearer {MARK}"
    assert request.headers["cookie"] == f"sid={MARK}"


def test_outside_a_replay_nothing_changes(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "recorder", lambda: None)
    with pytest.raises(UnicodeEncodeError):
        module.Headers({"authorization": MARK})
    headers = module.Headers({"a": "1"}, encoding="ascii")
    with pytest.raises(UnicodeEncodeError):
        headers["b"] = MARK
    headers["b"] = "2"
    assert dict(headers) == {"a": "1", "b": "2"}
