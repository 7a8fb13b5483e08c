"""Runs real servers with the recorder in them, in an environment with other people's packages, and asks them.

with Server(lab, "uvicorn", "main:app", "--workers", "4", python=environment("uvicorn", "fastapi")) as server:
    server.ask("/plain", {"marker": "[1]"})
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2

from tests.support.recorded import SRC

READY_S = 60


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def surroundings(store: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a recorded program's launcher finds in its environment."""
    return {
        **os.environ,
        "AGENTDBG_STORE": str(store),
        "AGENTDBG_REDACTION_KEY": "k" * 32,
        "AGENTDBG_DEBUG": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **(env or {}),
    }


def recorded_command(*command: str | Path, record: bool = True) -> list[str]:
    """A command with ``agentdbg record`` before it."""
    ours = [sys.executable, "-m", "agentdbg.cli.main", "record", "--"] if record else []
    return [*ours, *map(str, command)]


class Server:
    """A server process, ready when entered, ended by SIGTERM."""

    def __init__(
        self,
        command: Sequence[str | Path],
        folder: Path,
        *,
        port: int,
        record: bool = True,
        env: Mapping[str, str] | None = None,
        ready: str = "/health",
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.exit: int | None = None
        self._command = recorded_command(*command, record=record)
        self._folder = folder
        self._ready = ready
        ours = {"PYTHONPATH": str(SRC)} if record else {}
        self._environment = surroundings(folder / "store", {**ours, **(env or {})})

    def __enter__(self) -> Server:
        self._log = (self._folder / "server.log").open("wb")
        self._process = subprocess.Popen(
            self._command, cwd=self._folder, env=self._environment, stdout=self._log, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(httpx2.TransportError):
                if httpx2.get(self.url + self._ready).status_code == 200:
                    return self
            time.sleep(0.05)
        self.__exit__(None, None, None)
        raise AssertionError(f"the server does not answer: {self.log()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self.exit = self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self.exit = self._process.wait()
        self._log.close()

    def log(self) -> str:
        """What the server has written to its standard streams."""
        return (self._folder / "server.log").read_text("utf-8", "replace")

    def ask(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        """Send one request."""
        return httpx2.post(self.url + path, json=body, headers=dict(headers or {}), timeout=60)

    def ask_at_once(self, path: str, bodies: Sequence[object]) -> list[Any]:
        """Send all requests at the same time; returns what came back, parsed."""

        async def fire() -> list[Any]:
            limits = httpx2.Limits(max_connections=len(bodies))
            async with httpx2.AsyncClient(timeout=300, limits=limits) as client:
                answers = (client.post(self.url + path, json=body) for body in bodies)
                found = await asyncio.gather(*answers)
            assert {response.status_code for response in found} == {200}, self.log()
            return [json.loads(response.content) for response in found]

        return asyncio.run(fire())
