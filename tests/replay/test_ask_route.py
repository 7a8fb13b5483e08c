"""Where a call may go, and which key goes with it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agentdbg.recording.providers import CHAT, COHERE, GEMINI, MESSAGES, OLLAMA_CHAT
from agentdbg.replay.ask_route import (
    NO_KEY,
    KeyMissing,
    Route,
    RouteRefused,
    RouteUnknown,
    route_for,
    with_model,
    without_streaming,
)

ALL = {name: f"key of {name}" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "CO_API_KEY")}


def _route(
    url: str = "https://api.openai.com/v1/chat/completions",
    provider: str = CHAT,
    *,
    headers: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = ALL,
    base_url: str | None = None,
    trusted: bool = False,
) -> Route:
    return route_for(url, provider, headers or {}, environ, base_url=base_url, model="some-model", trusted=trusted)


@pytest.mark.parametrize(
    ("url", "provider", "header"),
    [
        ("https://api.openai.com/v1/chat/completions", CHAT, ("authorization", "Bearer key of OPENAI_API_KEY")),
        ("https://api.anthropic.com/v1/messages", MESSAGES, ("x-api-key", "key of ANTHROPIC_API_KEY")),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent",
            GEMINI,
            ("x-goog-api-key", "key of GEMINI_API_KEY"),
        ),
        ("https://api.cohere.com/v2/chat", COHERE, ("authorization", "Bearer key of CO_API_KEY")),
    ],
)
def test_a_providers_own_host_gets_its_own_key(url: str, provider: str, header: tuple[str, str]) -> None:
    found = _route(url, provider)
    assert found.url == url
    assert found.headers == (header,)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(KeyMissing, match="OPENAI_API_KEY"):
        _route(environ={})


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1/chat/completions",
        "http://api.openai.com/v1/chat/completions",
        "https://api.openai.com.evil.example/v1/chat/completions",
        "https://api.openai.com:8443/v1/chat/completions",
        "http://127.0.0.1:2375/v1/chat/completions",
    ],
)
def test_a_strangers_record_sends_nothing_elsewhere(url: str) -> None:
    with pytest.raises(RouteRefused, match="--base-url"):
        _route(url)


@pytest.mark.parametrize("url", ["https://me:secret@api.openai.com/v1/x", "https://me@api.openai.com/v1/x"])
def test_an_address_with_a_password_is_not_used(url: str) -> None:
    with pytest.raises(RouteRefused):
        _route(url, trusted=True)


def test_a_key_never_goes_over_a_network_in_the_clear() -> None:
    with pytest.raises(RouteRefused, match="TLS"):
        _route("http://10.0.0.9/v1/chat/completions", trusted=True)


def test_a_server_on_this_machine_gets_no_key_unless_the_user_names_it() -> None:
    local = "http://127.0.0.1:9/v1/chat/completions"
    assert _route(local, trusted=True).headers == (("authorization", f"Bearer {NO_KEY}"),)
    named = _route("", base_url="http://localhost:9/v1")
    assert named.headers == (("authorization", "Bearer key of OPENAI_API_KEY"),)
    assert _route("", base_url="http://localhost:9/v1", environ={}).headers == (("authorization", f"Bearer {NO_KEY}"),)


@pytest.mark.parametrize(
    ("base", "provider", "url"),
    [
        ("http://localhost:1/v1", CHAT, "http://localhost:1/v1/chat/completions"),
        ("http://localhost:1/v1/", CHAT, "http://localhost:1/v1/chat/completions"),
        ("http://localhost:1/v1/chat/completions", CHAT, "http://localhost:1/v1/chat/completions"),
        ("http://localhost:1", MESSAGES, "http://localhost:1/v1/messages"),
        ("http://localhost:1/v1", MESSAGES, "http://localhost:1/v1/messages"),
        ("http://localhost:1", OLLAMA_CHAT, "http://localhost:1/api/chat"),
        ("http://localhost:1", GEMINI, "http://localhost:1/v1beta/models/some-model:generateContent"),
    ],
)
def test_a_base_address_is_completed_as_the_sdks_do(base: str, provider: str, url: str) -> None:
    assert _route("", provider, base_url=base).url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://api.openai.com/v1/chat/completions",
        "file:///etc/passwd",
        "https://⟦R:host:4:0123456789ab⟧/v1/chat/completions",
        "https://[::1/v1",
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/invoke",
        "https://europe-west4-aiplatform.googleapis.com/v1/x:rawPredict",
    ],
)
def test_what_cannot_be_sent_is_said(url: str) -> None:
    with pytest.raises(RouteUnknown):
        _route(url, trusted=True)


def test_a_redacted_key_in_the_address_is_left_out() -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent?key=⟦R:field:9:0123456789ab⟧&a=1"
    assert _route(url, GEMINI).url.endswith(":generateContent?a=1")


def test_ollama_needs_no_key() -> None:
    assert _route("http://127.0.0.1:11434/api/chat", OLLAMA_CHAT, trusted=True).headers == ()


def test_addresses_name_the_model_and_the_stream_of_some_providers() -> None:
    gemini = "https://h/v1beta/models/old:streamGenerateContent?alt=sse&x=1"
    assert without_streaming(with_model(gemini, "new")) == "https://h/v1beta/models/new:generateContent?x=1"
    azure = "https://h.openai.azure.com/openai/deployments/old/chat/completions?api-version=1"
    assert with_model(azure, "new") == azure.replace("/old/", "/new/")
    plain = "https://api.openai.com/v1/chat/completions?alt=sse"
    assert without_streaming(with_model(plain, "new")) == plain
