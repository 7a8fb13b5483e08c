"""An HTTP server on 127.0.0.1 with what there is beside JSON: encodings, redirects, cookies, broken bodies.

with PlainServer() as server:
    httpx.get(server.url + "/gzip")
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = "Grüße, 日本 🙂 " * 40
LINES = "".join(f"line {i}: ü{i}\n" for i in range(9))
BINARY = bytes(range(256)) * 64
BIG = json.dumps({"rows": ["0123456789abcdef" * 64] * 4900}).encode()
EVENTS = [f'event: tick\ndata: {{"n": {i}, "text": "Stück {i}"}}\n\n' for i in range(6)]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class PlainServer:
    """The server, running while used as a context manager. ``requests`` holds what came in."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.plain = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> PlainServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse connections from now on. May be called twice."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True  # the client hung up

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if "chunked" in self.headers.get("transfer-encoding", ""):
            body = self._chunked()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.plain.requests.append(Seen(self.command, self.path, headers, body))  # type: ignore[attr-defined]
        path = self.path.partition("?")[0]
        answer = ROUTES.get(path)
        if answer is None:
            return self.send(json.dumps({"path": self.path, "got": len(body)}).encode())
        answer(self)
        return None

    do_POST = do_PUT = do_HEAD = do_DELETE = do_GET

    def _chunked(self) -> bytes:
        out = b""
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def head(self, status: int, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def send(self, body: bytes, *headers: tuple[str, str], status: int = 200) -> None:
        kind = () if any(name == "content-type" for name, _ in headers) else (("content-type", "application/json"),)
        self.head(status, *kind, ("content-length", str(len(body))), *headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def pieces(self, content_type: str, pieces: list[bytes], *headers: tuple[str, str], end: bool = True) -> None:
        self.head(200, ("content-type", content_type), ("transfer-encoding", "chunked"), *headers)
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            time.sleep(0.002)
        if end:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)


def _cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def _broken_gzip(handler: _Handler) -> None:
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(TEXT.encode()) + packer.flush(zlib.Z_SYNC_FLUSH) + b"\xff" * 40
    handler.pieces("text/plain", _cut(packed, 30), ("content-encoding", "gzip"))


def _redirected(handler: _Handler) -> None:
    handler.send(b"", ("location", "/redirect2"), ("set-cookie", "sid=cookie-value-1234567; Path=/"), status=302)


def _flaky(handler: _Handler) -> None:
    count = sum(seen.path == handler.path for seen in handler.server.plain.requests)  # type: ignore[attr-defined]
    if count < 3:
        handler.send(b'{"error": "busy"}', ("retry-after", "0"), status=429)
    else:
        handler.send(b'{"ok": true}')


def _hang(handler: _Handler) -> None:
    time.sleep(0.6)
    handler.send(b"late")


def _raw_deflate(handler: _Handler) -> None:
    packer = zlib.compressobj(wbits=-15)
    body = packer.compress(TEXT.encode()) + packer.flush()
    handler.send(body, ("content-encoding", "deflate"), ("content-type", "text/plain; charset=utf-8"))


_PLAIN = ("content-type", "text/plain; charset=utf-8")
ROUTES: dict[str, Callable[[_Handler], None]] = {
    "/gzip": lambda h: h.send(gzip.compress(TEXT.encode()), ("content-encoding", "gzip"), _PLAIN),
    "/gzip-pieces": lambda h: h.pieces(_PLAIN[1], _cut(gzip.compress(TEXT.encode()), 7), ("content-encoding", "gzip")),
    "/deflate": lambda h: h.send(zlib.compress(TEXT.encode()), ("content-encoding", "deflate"), _PLAIN),
    "/raw-deflate": _raw_deflate,
    "/twice": lambda h: h.send(
        gzip.compress(zlib.compress(TEXT.encode())), ("content-encoding", "deflate, gzip"), _PLAIN
    ),
    "/unknown-encoding": lambda h: h.send(b"\x0b\x02raw", ("content-encoding", "lzip"), _PLAIN),
    "/not-gzip": lambda h: h.pieces(_PLAIN[1], [b"plainly", b" no gzip"], ("content-encoding", "gzip")),
    "/broken-gzip": _broken_gzip,
    "/empty": lambda h: h.send(b""),
    "/none": lambda h: h.head(204),
    "/binary": lambda h: h.pieces("application/octet-stream", _cut(BINARY, 5000)),
    "/big": lambda h: h.send(BIG),
    "/utf8-pieces": lambda h: h.pieces("text/plain; charset=utf-8", _cut(LINES.encode(), 5)),
    "/invalid-json": lambda h: h.send(b'{"half": '),
    "/reason": lambda h: _reason(h),
    "/redirect": _redirected,
    "/redirect2": lambda h: h.send(b"", ("location", "/who"), status=307),
    "/who": lambda h: h.send(json.dumps({"cookie": h.headers.get("cookie", "")}).encode()),
    "/flaky": _flaky,
    "/hang": _hang,
    "/fail": lambda h: h.send(b'{"error": "broken"}', status=500),
    "/sse": lambda h: h.pieces("text/event-stream", [event.encode() for event in EVENTS]),
    "/sse-pieces": lambda h: h.pieces("text/event-stream", _cut("".join(EVENTS).encode(), 11)),
    "/sse-gzip": lambda h: h.pieces(
        "text/event-stream", _cut(gzip.compress("".join(EVENTS).encode()), 13), ("content-encoding", "gzip")
    ),
    "/sse-dropped": lambda h: h.pieces("text/event-stream", [event.encode() for event in EVENTS[:3]], end=False),
    "/v1/chat/completions": lambda h: _chat(h),
    "/dropped": lambda h: h.pieces("application/json", [b'{"half":', b" 1"], end=False),
}


def _chat(handler: _Handler) -> None:
    asked = json.loads(handler.server.plain.requests[-1].body)  # type: ignore[attr-defined]
    head = {"id": "chatcmpl-1", "model": "m-1"}
    if asked.get("stream"):
        deltas = [{"index": 0, "delta": {"content": f"piece {i} "}} for i in range(5)]
        events = [json.dumps({**head, "choices": [delta]}) for delta in deltas]
        handler.pieces("text/event-stream", [f"data: {event}\n\n".encode() for event in [*events, "[DONE]"]])
    else:
        message = {"role": "assistant", "content": "hello"}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        handler.send(json.dumps({**head, "choices": choices}).encode())


def _reason(handler: _Handler) -> None:
    handler.send_response(418, "Slow Down Please")
    handler.send_header("content-length", "0")
    handler.end_headers()
