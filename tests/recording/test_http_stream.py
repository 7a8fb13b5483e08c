"""An event stream on its way to disk: whole, redacted over any cuts, there as far as it came when the process dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.model.canonical import loads
from agentdbg.model.records import Kind, RunStatus, StepStatus
from agentdbg.recording.http_stream import StreamEnd, StreamRecord
from agentdbg.recording.providers import text_channels
from agentdbg.recording.sse import SseSplitter
from agentdbg.recording.stream_array import ArrayFraming
from agentdbg.recording.stream_event import Framing, StreamEvent
from agentdbg.recording.stream_frames import FrameFraming
from agentdbg.recording.stream_lines import LineFraming
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey
from tests.support import provider_formats as formats
from tests.support import provider_servers as servers
from tests.support.http_lab import HttpLab
from tests.support.provider_formats import Said
from tests.support.scripted_server import Reply
from tests.support.secret_samples import secrets

KEY = RedactionKey(b"k" * 32, "test")
SECRETS = secrets(21)


class Run:
    """As much of a run as a stream needs."""

    def __init__(self) -> None:
        self.gate = Gate(KEY)
        self.bodies: list[bytes] = []

    def body(self, data: bytes) -> dict[str, object]:
        self.bodies.append(data)
        return {"n": len(self.bodies) - 1}

    def event(self, scope: object, kind: str, members: dict[str, object]) -> None:
        assert kind == "chunk" and members["body"] == {"n": len(self.bodies) - 1}


class Stand:
    """Scope and step in one."""

    id = "w:1"

    def __init__(self) -> None:
        self.run = Run()


def recorded(
    pieces: list[bytes], provider: str | None = None, framing: Framing | None = None
) -> tuple[bytes, StreamEnd, Run]:
    """What is on disk of a stream, how it ended, and its run."""
    stand: Any = Stand()
    record = StreamRecord(stand, stand, provider, framing or SseSplitter())
    for piece in pieces:
        record.feed(piece)
    end = record.close(ended=True)
    rows: list[Any] = [row for body in stand.run.bodies for row in loads(body)]  # type: ignore[attr-defined]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    return b"".join(str(row[1]).encode("utf-8", "surrogateescape") for row in rows), end, stand.run


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def stream_of(provider: str, text: str, pieces: int = 40, **request: Any) -> bytes:
    """A provider's stream that says a text, and calls a tool with it."""
    make = {
        "openai.chat": formats.chat_events,
        "openai.responses": formats.responses_events,
        "anthropic.messages": formats.messages_events,
    }[provider]
    said = Said(text, (("note", {"text": text}),), pieces, (1, 2))
    out = b""
    for name, data in make({"model": "m", "input": "", **request}, said):
        data = {"type": name, **data} if name else data
        written = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        out += (f"event: {name}\n" if name else "").encode() + f"data: {written}\n\n".encode()
    return out


PROVIDERS = ("openai.chat", "openai.responses", "anthropic.messages")


@pytest.mark.parametrize("provider", [*PROVIDERS, None])
@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_without_secrets_every_byte_and_every_boundary_is_kept(provider: str | None, size: int) -> None:
    body = (
        b"\xef\xbb\xbf: hello\n\n" + stream_of(provider or "openai.chat", "Grüße, 日本 🙂 " * 9) + b"data: cut \xf0\x9f"
    )
    kept, end, _ = recorded(cut(body, size), provider)
    assert kept == body
    assert end.attrs["chunks"] == [len(piece) for piece in cut(body, size)]
    assert end.complete == (provider is not None or b"[DONE]" in body)


@settings(max_examples=60, deadline=None)
@given(body=st.binary(max_size=300), sizes=st.lists(st.integers(1, 40), max_size=20))
def test_any_bytes_come_back_unchanged(body: bytes, sizes: list[int]) -> None:
    pieces = []
    rest = body
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    kept, end, run = recorded([*pieces, rest])
    if not run.gate.count:
        assert kept == body and sum(end.attrs["chunks"]) == len(body)  # type: ignore[call-overload]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["openai", "pem", "phone", "email", "jwt"])
def test_a_secret_cut_over_many_deltas_is_nowhere(provider: str, kind: str) -> None:
    secret = SECRETS[kind]
    body = stream_of(provider, f"take {secret} and go " + "on " * 200, pieces=90)
    kept, end, run = recorded(cut(body, 33), provider)
    mark = run.gate.text(secret)
    assert end.response is not None and end.result is not None
    for piece in (secret, json.dumps(secret)[1:-1], secret[:20], secret[-20:]):
        if len(piece) >= 10:
            assert piece.encode() not in kept + end.result
    assert mark in json.dumps(end.response.output, ensure_ascii=False)
    assert "chunks" not in end.attrs and sum(end.attrs["chunk_events"]) == kept.count(b"\n\n")  # type: ignore[call-overload]
    assert end.response.tool_calls and end.complete


def test_secrets_beside_the_data_and_in_streams_of_unknown_shape_are_found() -> None:
    key, phone, mail = SECRETS["openai"], SECRETS["phone"], SECRETS["email"]
    words = [f"data: {part}\n\n" for part in (key[:9], key[9:30], key[30:], " is it")]
    shaped = [json.dumps({"candidates": [{"parts": [{"text": part}]}], "n": 1}) for part in (mail[:7], mail[7:], " ok")]
    beside = [
        f": seen {phone}\n\n",
        f"id: {mail}\ndata: 1\n\n",
        f"event: {key}\ndata: [1, 2]\n\n",
        f'data: ["{phone}"]\n\n',
    ]
    body = "".join([*words, *(f"data: {text}\n\n" for text in shaped), *beside]).encode()
    kept, end, _ = recorded(cut(body, 50))
    for secret in (key, key[:20], key[30:60], phone, mail, mail[7:]):
        assert secret.encode() not in kept, secret
    assert kept.count(b"\n\n") == body.count(b"\n\n") and "chunks" not in end.attrs


def test_log_probabilities_do_not_spell_what_was_redacted() -> None:
    key = SECRETS["openai"]
    tokens = [key[at : at + 4] for at in range(0, len(key), 4)]
    body = b""
    for token in tokens:
        spelled = {"token": token, "bytes": list(token.encode()), "logprob": -1.0, "top_logprobs": [{"token": token}]}
        choice = {"index": 0, "delta": {"content": token}, "logprobs": {"content": [spelled]}}
        body += b"data: " + json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode() + b"\n\n"
    kept, end, _ = recorded([body + b"data: [DONE]\n\n"], "openai.chat")
    assert end.result is not None
    found = kept + end.result
    assert not [token for token in tokens[2:] if token.encode() in found]
    assert b"bytes" in kept and str(list(tokens[5].encode()))[1:-1].replace(" ", "").encode() not in found


KILLED = """
import os, httpx2, agentdbg
@agentdbg.agent
def agent():
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "long " * 200}]}
    with httpx2.Client(timeout=30) as client:
        with client.stream("POST", f"http://127.0.0.1:{os.environ['PORT']}/v1/chat/completions", json=body) as response:
            for line in response.iter_lines():
                print(line, flush=True)

if __name__ == "__main__":
    agent()
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[HttpLab]:
    lab = HttpLab(tmp_path)
    yield lab
    lab.provider.stop()


def test_kill_9_in_mid_stream_leaves_the_request_and_the_chunks_so_far(lab: HttpLab) -> None:
    lab.provider.script(Reply(text="piece of text " * 400, pieces=400, chunk_delay=0.01))
    lab.write(KILLED)
    lab.runs = 1
    child = subprocess.Popen(
        [sys.executable, str(lab.program)],
        cwd=lab.place,
        env={**os.environ, **lab.environment()},
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    seen = [child.stdout.readline() for _ in range(200)]
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    (step,) = lab.steps(Kind.MODEL)
    assert step.status is StepStatus.OPEN
    assert lab.request(step)["messages"][0]["content"] == "long " * 200
    source = lab.run()
    assert source.summary().status is RunStatus.LOST
    refs = [event["body"] for event in lab.raw_events() if event["e"] == "chunk"]
    kept = sum(len(lab.body(_ref(ref))) for ref in refs)
    assert len(seen) // 2 - kept < 60, "all but what the last tenth of a second and the redactor hold back"
    source.close()


def _ref(members: dict[str, Any]) -> Any:
    from agentdbg.store.journal import ref_from

    return ref_from(members)


def other_stream(shape: str, text: str, size: int) -> tuple[bytes, str, Framing]:
    """A stream that says a text in small pieces: its bytes, its provider, and how it is cut into events."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    candidates = [{"candidates": [{"content": {"parts": [{"text": piece}]}, "index": 0}]} for piece in pieces]
    candidates.append({"candidates": [{"finishReason": "STOP", "index": 0}]})
    if shape == "array":
        texts = [json.dumps(one, ensure_ascii=False).encode() for one in candidates]
        return b"[" + b",\r\n".join(texts) + b"]", "google.gemini", ArrayFraming()
    if shape == "lines":
        rows = [{"message": {"content": piece}, "done": False} for piece in pieces]
        return b"".join(servers.line(row) for row in [*rows, {"done": True}]), "ollama.chat", LineFraming()
    if shape == "frames":
        deltas = [{"contentBlockIndex": 0, "delta": {"text": piece}, "p": "abcdefghijk"} for piece in pieces]
        frames = [servers.event_frame("contentBlockDelta", delta) for delta in deltas]
        stop = servers.event_frame("messageStop", {"stopReason": "end_turn"})
        return b"".join([*frames, stop]), "bedrock.converse", FrameFraming()
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": p}} for p in pieces]
    frames = [servers.wrapped_frame(one) for one in [*deltas, {"type": "message_stop"}]]
    return b"".join(frames), "anthropic.messages", FrameFraming()


SHAPES = ("array", "lines", "frames", "wrapped")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 7, 100])
def test_every_byte_and_boundary_of_other_framings_is_kept(shape: str, size: int) -> None:
    text = "Grüße, 日本 🙂 " * 9
    body, provider, framing = other_stream(shape, text, 5)
    kept, end, _ = recorded(cut(body, size), provider, framing)
    assert kept == body and end.attrs["chunks"] == [len(piece) for piece in cut(body, size)]
    assert end.complete and end.response is not None
    assert text in json.dumps(end.response.output, ensure_ascii=False)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["openai", "pem", "phone", "email", "jwt"])
def test_a_secret_in_other_framings_is_nowhere_and_what_is_kept_is_valid(shape: str, kind: str) -> None:
    secret = SECRETS[kind]
    body, provider, framing = other_stream(shape, f"take {secret} and go " + "on " * 200, 9)
    kept, end, run = recorded(cut(body, 33), provider, framing)
    assert end.response is not None and end.complete and "chunks" not in end.attrs
    assert run.gate.text(secret) in json.dumps(end.response.output, ensure_ascii=False)
    fresh = type(framing)()
    events = [*fresh.feed(kept), *fresh.finish()]
    assert fresh.rest() == b"" and sum(end.attrs["chunk_events"]) == len(events) - (shape == "array")  # type: ignore[call-overload]
    seen = kept + "".join(event.data or "" for event in events).encode()
    joined = "".join(str(row[0]) for event in events if event.data for row in _texts(provider, event))
    for piece in (secret, json.dumps(secret)[1:-1], secret[:20], secret[-20:]):
        if len(piece) >= 10:
            assert piece.encode() not in seen and piece not in joined
    assert run.gate.text(secret) in joined


def _texts(provider: str, event: StreamEvent) -> list[tuple[object, ...]]:
    channels = text_channels(provider, event.event, json.loads(event.data or "null"))
    return [(holder[member],) for _, holder, member in channels]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("left", [1, 11, 40, 90])
def test_a_stream_of_other_framings_that_is_given_up_is_kept_as_far_as_it_came(shape: str, left: int) -> None:
    body, provider, framing = other_stream(shape, "one two three four five six", 6)
    body = body[:-left]
    kept, end, _ = recorded(cut(body, 50), provider, framing)
    assert kept == body and sum(end.attrs["chunks"]) == len(body)  # type: ignore[call-overload]
    assert end.response is not None
