"""What the tests of regression replays share: calls, recorded calls, and a laboratory with a model that can be told.

lab = RegressionLab(tmp_path, server, byte_code)
lab.record(PROGRAM)
outcome = lab.regress(start=5)
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agentdbg.model.records import Effect, Kind
from agentdbg.recording.calls import Call
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.regression import RegressionOptions, regression
from agentdbg.replay.run import ReplayOptions
from agentdbg.store.address import open_store
from tests.support.replay_lab import EffectServer, ReplayLab

_numbers = itertools.count()


def recorded(
    step: str,
    name: str,
    *,
    kind: Kind = Kind.TOOL,
    mark: str = "",
    lane: str = "0",
    asked: int | None = None,
    ended: int | None = -1,
    result: str | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> RecordedCall:
    """A recorded call; one after the other unless places are given."""
    at = 2 * next(_numbers) if asked is None else asked
    over = at + 1 if ended == -1 else ended
    status = "open" if over is None else "ok"
    return RecordedCall(
        step, kind.value, name, lane, mark or f"fp:{step}", "", at, over, status, result=result, attrs=attrs or {}
    )


def made(
    name: str,
    *,
    kind: Kind = Kind.TOOL,
    effect: Effect | None = None,
    mark: str = "?",
    alpha: str = "",
    lane: str = "0",
    key: str | None = None,
    given: Mapping[str, object] | None = None,
) -> Call:
    """A call that the program makes."""
    return Call(f"now:{next(_numbers)}", kind, name, effect, lane, mark, alpha, "", key, given)


class World:
    """A server that stands for a model and for what tools reach: ``POST /v1/chat/completions``, the rest counted.

    Attributes:
        model: Gives the answer to a chat request: a text, or the name and arguments of a tool.
        status: The HTTP status of the model's answers.
        facts: What ``GET /NAME`` gives.
        done: What came in, apart from model calls.
        calls: Number of model calls.
    """

    def __init__(self) -> None:
        self.model: Callable[[dict[str, Any]], str | tuple[str, dict[str, Any]]] = lambda body: "fine"
        self.status = 200
        self.facts: dict[str, str] = {}
        self.done: list[str] = []
        self.calls = 0
        world = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.path == "/v1/chat/completions":
                    world.calls += 1
                    answer = json.dumps(_completion(world.model(json.loads(body)), world.calls))
                    return self.give(answer, world.status)
                world.done.append(f"{self.command} {self.path} {body.decode()}")
                return self.give('{"ok": true}')

            do_PUT = do_PATCH = do_DELETE = do_POST

            def do_GET(self) -> None:
                world.done.append(f"GET {self.path}")
                self.give(world.facts.get(self.path.strip("/"), "nothing"))

            def give(self, text: str, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port: int = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Stop."""
        self._http.shutdown()
        self._http.server_close()


def _completion(answer: str | tuple[str, dict[str, Any]], number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
    if not isinstance(answer, str):
        function = {"name": answer[0], "arguments": json.dumps(answer[1])}
        message["tool_calls"] = [{"id": f"call_{number:08d}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": f"chatcmpl-{number:08d}", "model": "m-1", "choices": [choice], "usage": {"total_tokens": 3}}


HELPERS = """\
import json, os, sys, urllib.request
import httpx
import agentdbg

WORLD = f"http://127.0.0.1:{os.environ['WORLD']}"


def ask(messages, client=httpx.Client(trust_env=False)):
    body = {"model": "m", "messages": messages}
    return client.post(WORLD + "/v1/chat/completions", json=body).json()["choices"][0]["message"]


def get(path, base=None):
    return urllib.request.urlopen((base or WORLD) + path).read().decode()


def post(path, body, base=None):
    return httpx.post((base or WORLD) + path, content=body, trust_env=False).text
"""


class RegressionLab(ReplayLab):
    """A laboratory whose programs have a model and a world that can be told what to say."""

    def __init__(self, place: Path, server: EffectServer | None = None) -> None:
        super().__init__(place, server)
        self.world = World()
        (place / "helpers.py").write_text(HELPERS, encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """What a program gets to see."""
        return {**super().environment(), "WORLD": str(self.world.port)}

    def regress(
        self,
        address: str = "run-1",
        *,
        guard: str = "audit",
        timeout: float = 60,
        reads: Sequence[str] = (),
        **options: Any,
    ) -> Outcome:
        """Replay as a regression; nothing changes but the store that the samples are published in."""
        source = self.run(address)
        common = ReplayOptions(guard, timeout, False, (), open_store(str(self.store)), reads=reads)
        with self.untouched(Path(source.root)), _world(self.world.port, self.environment()):
            try:
                return regression(source, RegressionOptions(common, **options))
            finally:
                source.close()


@contextmanager
def _world(port: int, added: Mapping[str, str]) -> Iterator[None]:
    wanted = {
        "WORLD": str(port),
        **{name: added[name] for name in ("OUTSIDE", "PORT", "AGENTDBG_DEBUG") if name in added},
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
