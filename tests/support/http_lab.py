"""Records programs that talk to a scripted server, stops the server, and replays them.

    lab = HttpLab(tmp_path)
    lab.server.script(Reply(text="hello"))
    lab.record(PROGRAM)
    assert lab.replay_without_server().verdict == "identical"

A program finds the server's port in ``PORT``; what its agent returns is the run's first result.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentdbg.model.records import Kind, Step
from agentdbg.model.segments import Part, join_request
from agentdbg.replay.outcome import Outcome
from agentdbg.store.reader import DirectoryRunSource
from tests.support.replay_lab import ReplayLab
from tests.support.scripted_server import ScriptedServer


class _Door:
    """What ``ReplayLab`` wants to know of a server."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.port = int(server.url.rpartition(":")[2])

    @property
    def connections(self) -> int:
        return len(self._server.requests)


class HttpLab(ReplayLab):
    """A laboratory with a scripted server, which runs until the first replay."""

    def __init__(self, place: Path, server: Any = None) -> None:
        self.provider = server or ScriptedServer()
        self.provider.__enter__()
        super().__init__(place, _Door(self.provider))  # type: ignore[arg-type]  # it only asks for port and connections

    def replay_without_server(self, address: str = "run-1", **options: Any) -> Outcome:
        """Stop the server and replay exactly."""
        self.provider.stop()
        return self.replay(address, **options)

    def steps(self, *kinds: Kind, address: str = "run-1") -> list[Step]:
        """The steps of these kinds, all when none is given."""
        source = self.run(address)
        source.index(None)
        found = [step for step in source.steps() if not kinds or step.kind in kinds]
        source.close()
        return found

    def body(self, ref: Any, address: str = "run-1") -> Any:
        """A body as JSON."""
        source = self.run(address)
        try:
            return json.loads(source.body(ref))
        finally:
            source.close()

    def returned(self, address: str = "run-1") -> Any:
        """What the agent returned."""
        return self.body(self.steps(Kind.AGENT, address=address)[0].result, address)

    def request(self, step: Step, address: str = "run-1") -> Any:
        """The recorded request of a model call, its segments put together again."""
        source = self.run(address)
        source.index(None)
        try:
            return joined(source, step)
        finally:
            source.close()

    def raw_events(self, address: str = "run-1") -> list[dict[str, Any]]:
        """Every event as it is written."""
        found: list[dict[str, Any]] = []
        for file in sorted((self.store / "runs" / address / "events").iterdir()):
            found += [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
        return found

    def everything(self) -> bytes:
        """All bytes of the store."""
        files = (path for path in sorted(self.store.rglob("*")) if path.is_file())
        return b"\n".join(path.read_bytes() for path in files)


def joined(source: DirectoryRunSource, step: Step) -> Any:
    """The request that a model call sent."""
    return join_request(
        [Part(part.kind, part.name, json.loads(source.body(part.ref))) for part in source.segments(step)]
    )


def message(done: subprocess.CompletedProcess[str]) -> Mapping[str, Any]:
    """The JSON document that a program printed."""
    found: dict[str, Any] = json.loads(done.stdout)
    return found
