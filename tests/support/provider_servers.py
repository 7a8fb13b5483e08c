"""A server on 127.0.0.1 that speaks the wire formats of Gemini, Ollama, Cohere, Bedrock, Mistral and OpenAI's family.

    with ProviderServer() as server:
        client = genai.Client(http_options={"base_url": server.url}, api_key="k")

What it says depends on the last thing that it is asked: ``tool`` asks for two tool calls, ``error`` is an error status,
``broken`` an error in the middle of a stream (or in a whole answer that has status 200, where the provider does that),
``refuse`` a refusal; anything else is answered with a text that repeats it. Streams come in pieces of ``cut`` bytes.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from tests.support import provider_formats as formats
from tests.support.provider_formats import Said, new_id
from tests.support.scripted_server import Received, _break

CALLS = (("get_weather", {"city": "Zürich"}), ("get_time", {"zone": "CET"}))
SSE, NDJSON, JSON = "text/event-stream", "application/x-ndjson", "application/json"
FRAMES = "application/vnd.amazon.eventstream"


@dataclass(frozen=True, slots=True)
class Answer:
    """Bytes to send: whole, or piece by piece."""

    content_type: str
    body: bytes = b""
    pieces: tuple[bytes, ...] | None = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, understood."""

    path: str
    query: str
    body: dict[str, Any]
    word: str

    @property
    def said(self) -> Said:
        """What is answered."""
        calls = CALLS if self.word == "tool" else ()
        return Said("" if calls else f"You said {self.word} – grüezi 🙂.", calls, 5, (11, 7))


def sse(name: str | None, data: Any) -> bytes:
    """A server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


def line(data: Any) -> bytes:
    """A line of NDJSON."""
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


def frame(payload: bytes, **headers: str) -> bytes:
    """A message of a binary event stream, all headers being text."""
    block = b""
    for name, value in headers.items():
        label = b":" + name.replace("_", "-").encode()
        block += bytes((len(label),)) + label + b"\x07" + len(value.encode()).to_bytes(2, "big") + value.encode()
    lengths = (16 + len(block) + len(payload)).to_bytes(4, "big") + len(block).to_bytes(4, "big")
    start = lengths + zlib.crc32(lengths).to_bytes(4, "big") + block + payload
    return start + zlib.crc32(start).to_bytes(4, "big")


def event_frame(name: str, data: Any) -> bytes:
    """An event as Bedrock sends it."""
    payload = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    return frame(payload, event_type=name, content_type=JSON, message_type="event")


def exception_frame(name: str, message: str) -> bytes:
    """An exception in the middle of a stream."""
    payload = json.dumps({"message": message}).encode()
    return frame(payload, exception_type=name, content_type=JSON, message_type="exception")


def wrapped_frame(data: Any) -> bytes:
    """A piece of a model's own response, in base64."""
    inner = json.dumps(data, ensure_ascii=False).encode()
    return event_frame("chunk", {"bytes": base64.b64encode(inner).decode(), "p": "abcdefghijklmnopqrstuvwxyzABCD"})


# Gemini --------------------------------------------------------------------------------------------------------------


def gemini_whole(asked: Asked) -> dict[str, Any]:
    """A Gemini response."""
    said = asked.said
    parts: list[Any] = [{"text": said.text}] if said.text else []
    parts += [{"functionCall": {"name": name, "args": args}} for name, args in said.tool_calls]
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 18}
    head = {"usageMetadata": usage, "modelVersion": "gemini-x-001", "responseId": new_id("")}
    if asked.word == "refuse":
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **head}
    return {"candidates": [candidate], **head}


def gemini_chunks(asked: Asked) -> list[dict[str, Any]]:
    """A Gemini stream: responses with the next parts each."""
    whole = gemini_whole(asked)
    head = {key: value for key, value in whole.items() if key != "candidates"}
    if asked.word == "refuse":
        return [whole]
    (candidate,) = whole["candidates"]
    pieces: list[Any] = [{"text": piece} for piece in asked.said.split(asked.said.text)] if asked.said.text else []
    pieces += [part for part in candidate["content"]["parts"] if "functionCall" in part]
    chunks = [{"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], **head} for part in pieces]
    if asked.word == "broken":
        error = {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}
        return [*chunks[:2], {"error": error}]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    return chunks


def gemini(asked: Asked) -> Answer:
    """Gemini and Vertex AI."""
    if asked.word == "error":
        error = {"error": {"code": 400, "message": "Invalid argument.", "status": "INVALID_ARGUMENT"}}
        return Answer(JSON, json.dumps(error).encode(), status=400)
    if asked.path.endswith(":generateContent"):
        return Answer(JSON, json.dumps(gemini_whole(asked), indent=2, ensure_ascii=False).encode())
    chunks = gemini_chunks(asked)
    if "alt=sse" in asked.query:
        return Answer(SSE, pieces=tuple(sse(None, chunk).replace(b"\n", b"\r\n") for chunk in chunks))
    texts = [json.dumps(chunk, indent=2, ensure_ascii=False).encode() for chunk in chunks]
    marks = [b"["] + [b"\n,\r\n"] * (len(texts) - 1)
    return Answer(JSON, pieces=(*(mark + text for mark, text in zip(marks, texts, strict=True)), b"\n]"))


# Ollama --------------------------------------------------------------------------------------------------------------


def ollama(asked: Asked) -> Answer:
    """Ollama's chat and generate."""
    if asked.word == "error":
        return Answer(JSON, b'{"error":"model \'m\' not found"}', status=404)
    said, chat = asked.said, asked.path.endswith("/chat")
    head = {"model": asked.body["model"], "created_at": "2026-01-01T00:00:00.123456Z"}
    calls = [{"function": {"name": name, "arguments": args}} for name, args in said.tool_calls]
    done = {"done": True, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 7, "total_duration": 123}

    def content(text: str, with_calls: bool = False) -> dict[str, Any]:
        if not chat:
            return {"response": text}
        return {"message": {"role": "assistant", "content": text, **({"tool_calls": calls} if with_calls else {})}}

    if asked.body.get("stream") is False:
        return Answer(JSON, json.dumps({**head, **content(said.text, bool(calls)), **done}).encode())
    pieces = [line({**head, **content(piece), "done": False}) for piece in said.split(said.text) if piece]
    if calls:
        pieces.append(line({**head, **content("", True), "done": False}))
    if asked.word == "broken":
        return Answer(NDJSON, pieces=(*pieces[:2], line({"error": "an error was encountered while running the model"})))
    return Answer(NDJSON, pieces=(*pieces, line({**head, **content(""), **done})))


# Cohere --------------------------------------------------------------------------------------------------------------


def cohere(asked: Asked) -> Answer:
    """Cohere's chat, version 2."""
    if asked.word == "error":
        return Answer(
            JSON, json.dumps({"id": new_id(""), "message": "invalid request: no such model"}).encode(), None, 400
        )
    said, identity = asked.said, new_id("")
    calls: list[dict[str, Any]] = [
        {"id": new_id(f"{name}_"), "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for name, args in said.tool_calls
    ]
    usage = {
        "billed_units": {"input_tokens": 4, "output_tokens": 7},
        "tokens": {"input_tokens": 11, "output_tokens": 7},
    }
    reason = "TOOL_CALL" if calls else "COMPLETE"
    if not asked.body.get("stream"):
        message: dict[str, Any] = {"role": "assistant"}
        message |= {"tool_plan": "I look it up.", "tool_calls": calls} if calls else {}
        message |= {} if calls else {"content": [{"type": "text", "text": said.text}]}
        return Answer(
            JSON, json.dumps({"id": identity, "message": message, "finish_reason": reason, "usage": usage}).encode()
        )
    start = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events: list[dict[str, Any]] = [{"type": "message-start", "id": identity, "delta": {"message": start}}]
    if calls:
        events += [
            {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": p}}} for p in said.split("I look it up.")
        ]
        for index, call in enumerate(calls):
            opened = {**call, "function": {**call["function"], "arguments": ""}}
            events.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": opened}}})
            for piece in said.split(call["function"]["arguments"]):
                delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
                events.append({"type": "tool-call-delta", "index": index, "delta": delta})
            events.append({"type": "tool-call-end", "index": index})
    else:
        opening = {"message": {"content": {"type": "text", "text": ""}}}
        events.append({"type": "content-start", "index": 0, "delta": opening})
        for piece in said.split(said.text):
            events.append({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}})
        events.append({"type": "content-end", "index": 0})
    end: dict[str, Any] = {"finish_reason": reason, "usage": usage}
    if asked.word == "broken":
        events, end = events[:4], {"finish_reason": "ERROR", "error": "the model failed"}
    events.append({"type": "message-end", "delta": end})
    return Answer(SSE, pieces=(*(sse(event["type"], event) for event in events), sse(None, "[DONE]")))


# Bedrock -------------------------------------------------------------------------------------------------------------


def converse(asked: Asked) -> Answer:
    """Bedrock's converse and converse-stream."""
    if asked.word == "error":
        return Answer(JSON, json.dumps({"message": "The provided model identifier is invalid."}).encode(), None, 400)
    said = asked.said
    calls = [{"toolUseId": new_id("tooluse_"), "name": name, "input": args} for name, args in said.tool_calls]
    reason = "guardrail_intervened" if asked.word == "refuse" else "tool_use" if calls else "end_turn"
    usage = {"inputTokens": 8, "cacheReadInputTokens": 3, "outputTokens": 7, "totalTokens": 18}
    if asked.path.endswith("/converse"):
        content: list[Any] = [{"toolUse": call} for call in calls] or [{"text": said.text}]
        message = {"output": {"message": {"role": "assistant", "content": content}}, "metrics": {"latencyMs": 5}}
        return Answer(JSON, json.dumps({**message, "stopReason": reason, "usage": usage}, ensure_ascii=False).encode())
    events: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant", "p": "abcdefghij"})]
    for index, call in enumerate(calls or [None]):  # type: ignore[list-item]  # one block of text where there are none
        if call:
            start = {"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}}
            events.append(("contentBlockStart", {"contentBlockIndex": index, "start": start, "p": "ab"}))
        for piece in said.split(json.dumps(call["input"]) if call else said.text):
            delta: dict[str, Any] = {"toolUse": {"input": piece}} if call else {"text": piece}
            events.append(("contentBlockDelta", {"contentBlockIndex": index, "delta": delta, "p": "abcdefghijklm"}))
        events.append(("contentBlockStop", {"contentBlockIndex": index, "p": "abc"}))
    if asked.word == "broken":
        failed = exception_frame("modelStreamErrorException", "The model failed.")
        return Answer(FRAMES, pieces=(*(event_frame(*event) for event in events[:4]), failed))
    events.append(("messageStop", {"stopReason": reason, "p": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0"}))
    events.append(("metadata", {"usage": usage, "metrics": {"latencyMs": 5}, "p": "abcdefghijk"}))
    return Answer(FRAMES, pieces=tuple(event_frame(*event) for event in events))


def invoke(asked: Asked) -> Answer:
    """Bedrock's invoke with an Anthropic body."""
    request: dict[str, Any] = {"model": unquote(asked.path.split("/")[-2])}
    if asked.word == "error":
        return Answer(JSON, json.dumps({"message": "Malformed input request."}).encode(), None, 400)
    if asked.path.endswith("/invoke"):
        return Answer(JSON, json.dumps(formats.messages_whole(request, asked.said)).encode())
    frames = [wrapped_frame({"type": name, **data}) for name, data in formats.messages_events(request, asked.said)]
    if asked.word == "broken":
        frames = [*frames[:5], exception_frame("throttlingException", "Too many requests.")]
    return Answer(FRAMES, pieces=tuple(frames))


# OpenAI's family -----------------------------------------------------------------------------------------------------


def chat(asked: Asked) -> Answer:
    """OpenAI chat, and Mistral's agents and fill-in-the-middle, which answer alike."""
    if asked.word == "error":
        error = {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found", "param": None}
        return Answer(JSON, json.dumps({"error": error}).encode(), status=404)
    request = {"model": asked.body.get("model") or "agent-model", **asked.body}
    if not asked.body.get("stream"):
        return Answer(JSON, json.dumps(formats.chat_whole(request, asked.said)).encode())
    if "/mistral/" in asked.path and asked.said.tool_calls:
        return _whole_calls(formats.chat_whole(request, asked.said))
    events = [sse(*event) for event in formats.chat_events(request, asked.said)]
    if asked.word == "broken":
        events = [*events[:3], sse(None, {"error": {"message": "the server failed", "type": "server_error"}})]
    return Answer(SSE, pieces=tuple(events))


def _whole_calls(answer: dict[str, Any]) -> Answer:
    """A stream in which tool calls are not cut: Mistral's."""
    (choice,) = answer["choices"]
    calls = [{**call, "index": index} for index, call in enumerate(choice["message"]["tool_calls"])]
    chunk = {**answer, "object": "chat.completion.chunk"}
    del chunk["usage"]
    first = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    last = {"index": 0, "delta": {"content": "", "tool_calls": calls}, "finish_reason": "tool_calls"}
    chunks = [{**chunk, "choices": [first]}, {**chunk, "choices": [last], "usage": answer["usage"]}]
    return Answer(SSE, pieces=(*(sse(None, one) for one in chunks), sse(None, "[DONE]")))


def responses(asked: Asked) -> Answer:
    """OpenAI responses."""
    if not asked.body.get("stream"):
        return Answer(JSON, json.dumps(formats.responses_whole(asked.body, asked.said)).encode())
    events = formats.responses_events(asked.body, asked.said)
    return Answer(SSE, pieces=tuple(sse(name, {"type": name, **data}) for name, data in events))


def embed(asked: Asked) -> Answer:
    """Embeddings, in everybody's members at once."""
    row, counts = [0.25, -0.5], {"prompt_tokens": 1, "total_tokens": 1}
    text = base64.b64encode(b"\x00\x00\x80>\x00\x00\x00\xbf").decode()
    data: list[dict[str, Any]] = [
        {"object": "embedding", "index": 0, "embedding": text if "encoding_format" in asked.body else row}
    ]
    openai = {"id": "e", "object": "list", "data": data, "model": "embed-x", "usage": counts}
    cohere_body = {"embeddings": {"float": [row]}, "texts": ["x"], "response_type": "embeddings_by_type"}
    google = {"embeddings": [{"values": row}], "embedding": {"values": row}, "totalTokens": 3}
    if "/api/embed" in asked.path:
        return Answer(JSON, json.dumps({"model": "embed-x", "embeddings": [row]}).encode())
    if "/v2/embed" in asked.path:
        return Answer(JSON, json.dumps({"id": "e", **cohere_body}).encode())
    return Answer(JSON, json.dumps(google if ":" in asked.path else openai).encode())


ROUTES: tuple[tuple[tuple[str, ...], Callable[[Asked], Answer]], ...] = (
    ((":generateContent", ":streamGenerateContent"), gemini),
    (("/api/chat", "/api/generate"), ollama),
    (("/v2/chat",), cohere),
    (("/converse", "/converse-stream"), converse),
    (("/invoke", "/invoke-with-response-stream"), invoke),
    (("/chat/completions", "/agents/completions", "/fim/completions"), chat),
    (("/responses",), responses),
    (("/embeddings", "/api/embed", "/v2/embed", "mbedContent", "mbedContents", ":countTokens"), embed),
)


def answer_to(path: str, body: bytes) -> Answer:
    """What the server says."""
    path, _, query = path.partition("?")
    parsed = json.loads(body)
    asked = Asked(path, query, parsed, _last_word(parsed))
    for endings, make in ROUTES:
        if path.endswith(endings):
            return make(asked)
    return Answer(JSON, json.dumps({"error": {"message": f"no route {path}"}}).encode(), status=404)


def _last_word(body: dict[str, Any]) -> str:
    """The last text of the last message, wherever it stands."""
    value: Any = body.get("messages") or body.get("contents") or body.get("input") or body.get("prompt") or ""
    while not isinstance(value, str):
        if isinstance(value, list):
            value = value[-1] if value else ""
        else:
            value = next((value[key] for key in ("content", "parts", "text") if key in value), "tool result")
    return value


class ProviderServer:
    """The server, running while used as a context manager.

    Attributes:
        requests: Every request so far, in order of arrival.
        cut: Bytes per piece of a stream on the wire; ``None``: one event in one piece.
        pause: Seconds between two pieces.
    """

    def __init__(self, cut: int | None = None, pause: float = 0.0) -> None:
        self.requests: list[Received] = []
        self.cut = cut
        self.pause = pause
        self._http = _Server(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL, without any path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        """Stop listening: from now on the port refuses connections. May be called twice."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
            for connection in list(self._http.open):
                _break(connection)
            self._http.server_close()

    def __enter__(self) -> ProviderServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: ProviderServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self.open: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""

    def do_POST(self) -> None:
        assert isinstance(self.server, _Server)
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner.requests.append(Received(self.command, self.path, headers, body))
        answer = answer_to(self.path, body)
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        self.send_header("x-amzn-requestid", new_id("req-"))
        if answer.pieces is None:
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in _cut(answer.pieces, owner.cut):
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            time.sleep(owner.pause)
        self.wfile.write(b"0\r\n\r\n")


def _cut(pieces: tuple[bytes, ...], size: int | None) -> Iterator[bytes]:
    if size is None:
        yield from pieces
        return
    joined = b"".join(pieces)
    for at in range(0, len(joined), size):
        yield joined[at : at + size]
