"""Records real programs in processes of their own and replays them, counting what either does outside.

    lab = ReplayLab(tmp_path)
    lab.record(PROGRAM)
    outcome = lab.replay()
    assert outcome.verdict == "identical"

A program finds in its environment ``OUTSIDE`` (a directory whose every byte is compared) and ``PORT`` (a server that
counts connections). `replay` asserts that nothing outside changed and that the source run is byte for byte the same.
"""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from agentdbg.replay.edits import parse_edit
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.run import ReplayOptions, exact
from agentdbg.store.address import open_store, resolve
from agentdbg.store.reader import DirectoryRunSource

SRC = Path(__file__).resolve().parents[2] / "src"


class EffectServer:
    """Counts connections on a loopback port."""

    def __init__(self) -> None:
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection, suppress(OSError):
                connection.settimeout(2)
                if connection.recv(65536):
                    connection.sendall(b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok")
                    while connection.recv(65536):
                        pass

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


class ReplayLab:
    """One directory with a program, a store and an outside world."""

    def __init__(self, place: Path, server: EffectServer | None = None) -> None:
        self.place = place
        self.store = place / ".agentdbg"
        self.outside = place / "outside"
        self.outside.mkdir()
        self.program = place / "program.py"
        self.server = server
        self.seconds = 0.0
        self.model = ""
        self.python = sys.executable
        self.runs = 0

    def write(self, text: str, name: str = "program.py") -> Path:
        """Write a program."""
        self.program = self.place / name
        self.program.parent.mkdir(parents=True, exist_ok=True)
        self.program.write_text(textwrap.dedent(text), encoding="utf-8")
        return self.program

    def record(
        self,
        text: str | None = None,
        *arguments: str,
        name: str = "program.py",
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        ok: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program that records itself; its run is ``run-1``, the next ``run-2``."""
        if text is not None:
            self.write(text, name)
        self.runs += 1
        done = subprocess.run(
            [self.python, *(command or [str(self.program)]), *arguments],
            cwd=self.place,
            env={**os.environ, **self.environment(), **(env or {})},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert not ok or done.returncode == 0, done.stderr
        assert "recording degraded" not in done.stderr, done.stderr
        return done

    def environment(self) -> dict[str, str]:
        """What a program gets to see."""
        found = {
            "AGENTDBG_STORE": str(self.store),
            "AGENTDBG_RUN_ID": f"run-{self.runs}",
            "AGENTDBG_DEBUG": "1",
            "OUTSIDE": str(self.outside),
            "PYTHONPATH": os.pathsep.join((str(SRC), str(self.place))),
        }
        return {**found, "PORT": str(self.server.port)} if self.server else found

    def run(self, address: str = "run-1") -> DirectoryRunSource:
        """Open a run."""
        return cast(DirectoryRunSource, resolve(open_store(str(self.store)), address))

    def replay(
        self,
        address: str = "run-1",
        *,
        guard: str = "audit",
        timeout: float = 30,
        trust: bool = False,
        tolerate: Sequence[str] = (),
        store: Path | None = None,
        edits: Sequence[str] = (),
        **more: Any,
    ) -> Outcome:
        """Replay a run and check that it touched nothing but the store it is published in."""
        source = self.run(address)
        target = open_store(str(store or self.store))
        made = tuple(map(parse_edit, edits))
        options = ReplayOptions(guard, timeout, trust, tolerate, target, edits=made, **more)
        with self.untouched(Path(source.root)), _environment(self.environment()):
            began = time.monotonic()
            try:
                return exact(source, options)
            finally:
                self.seconds = time.monotonic() - began
                source.close()

    @contextmanager
    def untouched(self, *also: Path) -> Iterator[None]:
        """Assert that nothing changes outside, beside the program and in these places, and that nothing connects."""
        places = (self.outside, *also)
        before = [tree(place) for place in places]
        program = {path for path in self.place.rglob("*") if self.store not in path.parents}
        connections = self.server.connections if self.server else 0
        yield
        assert [tree(place) for place in places] == before
        assert {path for path in self.place.rglob("*") if self.store not in path.parents} == program
        assert (self.server.connections if self.server else 0) == connections


def tree(place: Path) -> dict[str, str]:
    """Every file below a place with the hash of its bytes."""
    files = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    """What the replaying user has set in the terminal."""
    kept = {name: value for name, value in added.items() if name in ("OUTSIDE", "PORT", "AGENTDBG_DEBUG")}
    before = {name: os.environ.get(name) for name in kept}
    os.environ.update(kept)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
