"""A provider server on 127.0.0.1 that says what a test scripts, and does what providers do on bad days.

    with ScriptedServer() as server:
        server.script(Reply(text="hello"), Reply(tool_calls=(("add", {"a": 1, "b": 2}),)))
        client = OpenAI(base_url=server.openai_url, api_key="k")

``POST /v1/chat/completions`` and ``POST /v1/responses`` are OpenAI's, ``POST /v1/messages`` is Anthropic's; whether an
answer is streamed is up to the request. Every other path is a plain JSON API that echoes what it got. Scripted
replies are used up in order; when there are none left the server echoes the prompt. Every request is kept with
its exact body bytes.
"""

from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support import provider_formats as formats
from tests.support.provider_formats import Event, Said, new_id

FORMATS = {
    "/v1/chat/completions": (formats.chat_whole, formats.chat_events),
    "/v1/responses": (formats.responses_whole, formats.responses_events),
    "/v1/messages": (formats.messages_whole, formats.messages_events),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer.

    Attributes:
        text: What the model says; ``None`` echoes the last thing that was asked.
        tool_calls: Name and arguments of each tool call, in parallel.
        usage: Tokens in and out.
        status: Another status than 200 sends an error instead.
        retry_after: Seconds named in ``retry-after`` (and ``retry-after-ms``).
        delay: Seconds until the answer starts.
        pieces: Into how many events a text or an argument string is streamed.
        chunk_delay: Seconds between two pieces on the wire.
        drop_after: Close the connection after so many events of a stream (0: after the headers), or, when the
            answer is not streamed, in the middle of the body.
        gzip: Compress the body, and name it in ``content-encoding``.
        cut: Cut what goes over the wire after so many bytes each, through characters and events; ``None`` sends
            one event in one piece.
        headers: Further response headers.
    """

    text: str | None = ""
    tool_calls: tuple[tuple[str, Any], ...] = ()
    usage: tuple[int, int] = (11, 7)
    status: int = 200
    retry_after: float | None = None
    delay: float = 0.0
    pieces: int = 4
    chunk_delay: float = 0.0
    drop_after: int | None = None
    gzip: bool = False
    cut: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


ECHO = Reply(text=None)


def rate_limited(retry_after: float = 0.01) -> Reply:
    """A 429 that says when to come back."""
    return Reply(status=429, retry_after=retry_after)


def server_error(status: int = 500) -> Reply:
    """A failure on the provider's side; the SDKs try again after `retry_after`."""
    return Reply(status=status, retry_after=0.01)


def dropped(after: int = 2, text: str = "this will not arrive whole") -> Reply:
    """A connection that breaks in the middle of the answer."""
    return Reply(text=text, drop_after=after)


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)


Answer = Reply | Callable[[Received], Reply]


class ScriptedServer:
    """The server, running while used as a context manager.

    Attributes:
        requests: Every request so far, in order of arrival.
        default: What answers when the script is empty.
    """

    def __init__(self, default: Answer = ECHO) -> None:
        self.default = default
        self.requests: list[Received] = []
        self._script: deque[Answer] = deque()
        self._lock = threading.Lock()
        self._http = _HttpServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL for an Anthropic client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """Base URL for an OpenAI client."""
        return f"{self.url}/v1"

    @property
    def bodies(self) -> list[bytes]:
        """The exact bytes of every request body so far."""
        return [request.body for request in self.requests]

    def script(self, *answers: Answer) -> None:
        """Queue what the next requests get; a callable decides when the request is there."""
        with self._lock:
            self._script.extend(answers)

    def count(self, path: str | None = None) -> int:
        """How many requests came, or came to one path."""
        return sum(path is None or request.path == path for request in self.requests)

    def answer_to(self, request: Received) -> Reply:
        """Note a request and take the reply that is due."""
        with self._lock:
            self.requests.append(request)
            answer = self._script.popleft() if self._script else self.default
        return answer if isinstance(answer, Reply) else answer(request)

    def stop(self) -> None:
        """Stop listening: from now on the port refuses connections. May be called twice."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
            self._http.close_connections()
            self._http.server_close()

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, scripted: ScriptedServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripted = scripted
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End connections that clients keep open, so that a stopped server answers nothing more."""
        for connection in list(self._open):
            _break(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.command, self.path, headers, body)
        assert isinstance(self.server, _HttpServer)
        reply = self.server.scripted.answer_to(received)
        time.sleep(reply.delay)
        path = self.path.partition("?")[0]
        if reply.status != 200:
            return self._send_whole(reply, _error(reply.status))
        if path not in FORMATS:
            return self._send_whole(reply, {"method": self.command, "path": self.path, "body": body.decode()})
        request = received.json
        whole, events = FORMATS[path]
        said = Said(_text(reply, request), reply.tool_calls, reply.pieces, reply.usage)
        if request.get("stream"):
            self._send_stream(reply, events(request, said))
        else:
            self._send_whole(reply, whole(request, said))

    def _send_head(self, reply: Reply, content_type: str, *more: tuple[str, str]) -> None:
        self.send_response(reply.status)
        self.send_header("content-type", content_type)
        self.send_header("x-request-id", new_id("req_"))
        self.send_header("request-id", new_id("req_"))
        if reply.retry_after is not None:
            self.send_header("retry-after", str(reply.retry_after))
            self.send_header("retry-after-ms", str(int(reply.retry_after * 1000)))
        if reply.gzip:
            self.send_header("content-encoding", "gzip")
        for name, value in (*reply.headers.items(), *more):
            self.send_header(name, value)
        self.end_headers()

    def _send_whole(self, reply: Reply, value: Any) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        body = gzip.compress(body) if reply.gzip else body
        self._send_head(reply, "application/json", ("content-length", str(len(body))))
        if reply.drop_after is not None:
            self.wfile.write(body[: len(body) // 2])
            return self._drop()
        for piece in _cut([body], reply.cut):
            self.wfile.write(piece)
            time.sleep(reply.chunk_delay)

    def _send_stream(self, reply: Reply, events: Iterator[Event]) -> None:
        self._send_head(reply, "text/event-stream; charset=utf-8", ("transfer-encoding", "chunked"))
        encoded = [_encode(event) for event in events]
        kept = encoded if reply.drop_after is None else encoded[: reply.drop_after]
        for piece in _cut(_gzipped(kept) if reply.gzip else kept, reply.cut):
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            time.sleep(reply.chunk_delay)
        if reply.drop_after is not None:
            return self._drop()
        self.wfile.write(b"0\r\n\r\n")

    def _drop(self) -> None:
        self.close_connection = True
        _break(self.connection)


def _break(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the client was faster


def _text(reply: Reply, request: dict[str, Any]) -> str:
    """The scripted text, or the last thing that was asked."""
    if reply.text is not None:
        return reply.text
    asked = request.get("messages") or request.get("input") or ""
    content = asked[-1].get("content", "") if isinstance(asked, list) else asked
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _error(status: int) -> dict[str, Any]:
    detail = {"type": "scripted_error", "message": f"scripted status {status}", "code": None, "param": None}
    return {"type": "error", "error": detail}


def _encode(event: Event) -> bytes:
    name, data = event
    if name is not None:
        data = {"type": name, **data}
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _gzipped(pieces: list[bytes]) -> list[bytes]:
    """The pieces of one gzip stream; each can be read when it arrives."""
    packer = zlib.compressobj(wbits=31)
    return [*(packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces), packer.flush()]


def _cut(pieces: list[bytes], size: int | None) -> list[bytes]:
    """The pieces as they are, or all of them cut to one size."""
    if size is None:
        return pieces
    joined = b"".join(pieces)
    return [joined[at : at + size] for at in range(0, len(joined), size)]
