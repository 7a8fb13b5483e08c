"""A local OpenAI-compatible server whose answers are rules (`rules.py`): a stand-in for a model, not a model.

    python -m agentdbg.demo.server --port 8765

It speaks ``POST /v1/chat/completions`` (streaming or not, tool calls, usage) and ``GET /v1/models``, and every
response carries the header ``x-demo: rules, not a model``. Ids are new on every call, as a provider's are. It can be
told to answer some calls with 429, *too many requests*.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from agentdbg.demo.rules import Answer, Json, answer

ALIASES = {"refund-model": "refund-model-2026-07-01"}
DEMO_HEADER = "rules, not a model"
RETRY_AFTER_MS = 150


class DemoServer:
    """The stand-in, running in a thread while used as a context manager.

    Attributes:
        calls: Number of chat requests answered so far.
    """

    def __init__(self, port: int = 0, *, pause: float = 0.0, busy_at: Collection[int] = ()) -> None:
        """Bind to 127.0.0.1.

        Args:
            port: Port to listen on; 0 takes a free one.
            pause: Seconds to wait before an answer and between streamed pieces (a tenth of it).
            busy_at: Numbers of the chat requests, from 1, that are answered with 429.
        """
        self.pause = pause
        self.busy_at = busy_at
        self.calls = 0
        self._counting = threading.Lock()
        self._http = _HttpServer(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL for an OpenAI client, ``/v1`` included."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def count_call(self) -> int:
        """Note one more chat request; its number is returned."""
        with self._counting:
            self.calls += 1
            return self.calls

    def start(self) -> None:
        """Serve in a background thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and free the port."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self) -> DemoServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], demo: DemoServer) -> None:
        super().__init__(address, _Handler)
        self.demo = demo

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report a broken handler, but not a client that hung up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "agentdbg-demo"
    sys_version = ""

    @property
    def demo(self) -> DemoServer:
        assert isinstance(self.server, _HttpServer)
        return self.server.demo

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet: the demo's own output matters more than an access log."""

    def do_GET(self) -> None:
        """List the models."""
        if self.path != "/v1/models":
            return self._send_json(404, _error("not found"))
        models: list[Json] = [{"id": name, "object": "model", "owned_by": "demo"} for name in ALIASES.values()]
        self._send_json(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        """Answer one chat request."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path != "/v1/chat/completions":
            return self._send_json(404, _error("not found"))
        try:
            request = json.loads(body)
            reply = answer(request["messages"], [tool["function"]["name"] for tool in request.get("tools") or []])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self._send_json(400, _error(f"not a chat request: {type(error).__name__}"))
        number = self.demo.count_call()
        time.sleep(self.demo.pause)
        if number in self.demo.busy_at:
            return self._send_json(429, _error("too many requests, try again soon"), ("retry-after-ms", RETRY_AFTER_MS))
        if request.get("stream"):
            self._send_stream(chunks(request, reply))
        else:
            self._send_json(200, completion(request, reply))

    def _send_head(self, status: int, content_type: str, *headers: tuple[str, object]) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("x-demo", DEMO_HEADER)
        self.send_header("x-request-id", f"req_{uuid.uuid4().hex}")
        for name, value in headers:
            self.send_header(name, str(value))
        self.end_headers()

    def _send_json(self, status: int, value: Mapping[str, Json], *headers: tuple[str, object]) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self._send_head(status, "application/json", ("content-length", len(body)), *headers)
        self.wfile.write(body)

    def _send_stream(self, events: Iterator[Mapping[str, Json]]) -> None:
        self._send_head(200, "text/event-stream; charset=utf-8", ("transfer-encoding", "chunked"))
        for event in events:
            self._send_chunk(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
            time.sleep(self.demo.pause / 10)
        self._send_chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def completion(request: Mapping[str, Json], reply: Answer) -> dict[str, Json]:
    """A complete chat answer in OpenAI's shape."""
    message: dict[str, Json] = {"role": "assistant", "content": reply.text or None}
    if reply.tool_calls:
        message["tool_calls"] = list(_tool_calls(reply))
    choice: Json = {"index": 0, "message": message, "finish_reason": _finish_reason(reply), "logprobs": None}
    return {**_envelope(request, "chat.completion"), "choices": [choice], "usage": _usage(request, reply)}


def chunks(request: Mapping[str, Json], reply: Answer) -> Iterator[dict[str, Json]]:
    """The same answer as a stream: role, words, tool calls, reason to stop, usage when asked for."""
    envelope = _envelope(request, "chat.completion.chunk")

    def chunk(delta: dict[str, Json], finish: str | None = None) -> dict[str, Json]:
        return {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for word in _words(reply.text):
        yield chunk({"content": word})
    for index, call in enumerate(_tool_calls(reply)):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, _finish_reason(reply))
    options = request.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        yield {**envelope, "choices": [], "usage": _usage(request, reply)}


def _words(text: str) -> Iterator[str]:
    for index, word in enumerate(text.split(" ")):
        yield word if index == 0 else f" {word}"


def _tool_calls(reply: Answer) -> Iterator[dict[str, Json]]:
    for call in reply.tool_calls:
        function: dict[str, Json] = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
        yield {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}


def _envelope(request: Mapping[str, Json], kind: str) -> dict[str, Json]:
    asked = str(request.get("model"))
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": ALIASES.get(asked, asked),
        "system_fingerprint": "rules-1",
    }


def _usage(request: Mapping[str, Json], reply: Answer) -> dict[str, Json]:
    sent = len(json.dumps(request.get("messages"))) // 4
    spoken = [reply.text, *(call.name + json.dumps(dict(call.arguments)) for call in reply.tool_calls)]
    said = len("".join(spoken)) // 4
    return {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}


def _finish_reason(reply: Answer) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _error(message: str) -> dict[str, Json]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


def main(argv: list[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m agentdbg.demo.server", description=str(__doc__).splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds to wait before each answer")
    options = parser.parse_args(argv)
    with DemoServer(options.port, pause=options.pause) as server:
        print(f"OPENAI_BASE_URL={server.url}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
