"""Runs one variant of a cell: bare, recorded, and replayed exactly while nobody answers any more."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.matrix import checks
from tests.matrix.cells import Cell
from tests.matrix.scenario import ARGUMENTS, refund_desk
from tests.support import environments, kernel, program, recorded
from tests.support.recorded import Recorded
from tests.support.replay_lab import tree
from tests.support.scripted_server import ScriptedServer

PROGRAMS = Path(__file__).with_name("programs")
RUN_ID = "matrix"
_LONGEST_S = 240
"""For a program or a replay, on a machine that has other things to do."""
_TOLD = 3
"""Of a run's replays that are not identical, so many are told in full."""


@dataclass(slots=True)
class Row:
    """What came of one variant, as it is written for the table.

    Attributes:
        problems: What was wrong, by part: ``bare``, ``unchanged``, ``record``, ``replay``.
        layers: What this machine has to hold a replay; every replay but one was held by all of them.
        replays: How many were made of the variant's runs, and how many of them had nothing wrong.
    """

    label: str
    package: str
    program: str
    version: str
    python: str
    variant: str
    with_versions: dict[str, str]
    problems: dict[str, list[str]] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    replays: tuple[int, int] = (0, 0)

    def note(self, part: str, found: list[str]) -> bool:
        """Keep what was wrong with a part; whether nothing was."""
        self.problems[part] = found
        return not found

    def write(self) -> None:
        """Keep the row for the table."""
        place = results()
        place.mkdir(parents=True, exist_ok=True)
        name = f"{self.program}-{self.package}-{self.version}-{self.python}-{self.variant.replace(' ', '-')}.json"
        (place / name).write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def results() -> Path:
    """Where rows are kept."""
    return environments.root().parent / "matrix"


def run(cell: Cell, variant: str, place: Path, times: int) -> Row:
    """Run a variant and say everything that is wrong; a part that cannot be judged any more is left out.

    Args:
        cell: The cell.
        variant: One of its variants.
        place: An empty directory.
        times: How often each run is replayed under all layers; once more it is under the audit hook alone.
    """
    trial = _Trial(cell, variant, place)
    row = trial.row
    with ScriptedServer(default=refund_desk) as server:
        bare = trial.start(server, "bare")
        if not row.note("bare", _bare_problems(bare)):
            return row
        server.requests.clear()
        under = trial.start(server, "recorded", *trial.recording())
        row.note("unchanged", _differences(bare, under))
        received = list(server.requests)
        server.stop()
        runs = trial.recorded_runs()
        names = [found.source.summary().run_id for found in runs]
        if len(runs) != cell.runs or names[0] != RUN_ID:
            row.note("record", [f"runs recorded: {', '.join(names) or 'none'}"])
            return row
        row.note("record", checks.problems(cell, runs, received))
        for found in runs:
            found.source.close()
        row.note("replay", [problem for name in names for problem in trial.replays(server, name, times)])
    return row


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a program did, as far as one can see from outside."""

    stdout: bytes
    stderr: bytes
    status: int
    effects: Mapping[str, int]
    ledger: str


class _Trial:
    """One variant in a directory of its own."""

    def __init__(self, cell: Cell, variant: str, place: Path) -> None:
        self.cell = cell
        self.place = place
        self.store = place / ".agentdbg"
        on = cell.versions
        self.python = (
            Path(sys.executable) if on is None else environments.environment(*on.requirements, python=on.python)
        )
        words = [word for word in variant.split() if word != "sync"]
        self.command = [str(self.python), str(PROGRAMS / f"{cell.program}.py"), *words]
        installed = environments.versions(self.python)
        asked = subprocess.run([self.python, "-V"], capture_output=True, encoding="utf-8", check=True).stdout
        with_versions = {name: installed[name] for name in sorted(installed) if name in _SHOWN}
        self.row = Row(
            cell.label, cell.package, cell.program, installed[cell.package], asked.split()[1], variant, with_versions
        )
        self.outside = place / "outside"

    def recording(self) -> list[str]:
        """The words before the program that have it recorded."""
        tools = [f"--tool={name}={effect}" for name, effect in self.cell.declared.items()]
        words = ["-m", "agentdbg.cli.main", "--store", str(self.store), "record", "--run-id", RUN_ID, *tools, "--"]
        return [sys.executable, *words]

    def environment(self, server: ScriptedServer) -> dict[str, str]:
        """What the program gets to see."""
        known = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "AGENTDBG"))
        }
        return {
            **known,
            "PORT": server.url.rpartition(":")[2],
            "OUTSIDE": str(self.outside),
            "OPENAI_BASE_URL": server.openai_url,
            "OPENAI_API_KEY": "not-a-real-one",
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "not-a-real-one",
            "AGENTDBG_DEBUG": "1",
        }

    def start(self, server: ScriptedServer, name: str, *before: str) -> _Ran:
        """Run the program to its end."""
        shutil.rmtree(self.outside, ignore_errors=True)
        self.outside.mkdir()
        ledger = self.outside / "ledger.txt"
        done = subprocess.run(
            [*before, *self.command],
            cwd=self.place,
            env=self.environment(server),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONGEST_S,
            check=False,
        )
        (self.place / f"{name}.out").write_bytes(done.stdout)
        (self.place / f"{name}.err").write_bytes(done.stderr)
        effects = {tool: server.count(f"/effects/{tool}") for tool in ARGUMENTS}
        return _Ran(
            done.stdout,
            done.stderr,
            done.returncode,
            effects,
            ledger.read_text(encoding="utf-8") if ledger.exists() else "",
        )

    def recorded_runs(self) -> list[Recorded]:
        """The runs of the store, in order."""
        runs = recorded.runs(self.store) if self.store.is_dir() else []
        return sorted(runs, key=lambda run: run.source.summary().started_at or 0)

    def replays(self, server: ScriptedServer, name: str, times: int) -> list[str]:
        """Replay a run against a dead port, the last time of each guard against one that counts who knocks."""
        found: list[str] = []
        before = tree(self.outside)
        port = int(server.url.rpartition(":")[2])
        held = kernel.layers()
        guards = [*["auto"] * (times if held else 0), "audit"]
        self.row.layers = held
        for number, guard in enumerate(guards, 1):
            with _counting(port, really=number >= len(guards) - 1) as knocks:
                wrong = list(self._replay(server, name, guard, held))
            if knocks:
                wrong.append(f"{len(knocks)} connections to the server")
            if (after := tree(self.outside)) != before:
                changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
                wrong.append(f"changed {', '.join(changed)}")
            made, good = self.row.replays
            self.row.replays = made + 1, good + (not wrong)
            found += [f"replay {number} of {name}, guard {guard}: {problem}" for problem in wrong]
        return found[:_TOLD]

    def _replay(self, server: ScriptedServer, name: str, guard: str, held: tuple[str, ...]) -> Iterator[str]:
        words = ("--store", self.store, "replay", name, "--exact", "--guard", guard, "--timeout", _LONGEST_S, "--json")
        done = program.agentdbg(*map(str, words), cwd=self.place, env=self.environment(server), timeout=2 * _LONGEST_S)
        try:
            said = json.loads(done.stdout)
        except ValueError:
            yield f"status {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}"
            return
        if said["verdict"] != "identical" or done.returncode != 0:
            kept = ("verdict", "reason", "first_divergence", "uncovered_effects", "counts", "notes")
            yield json.dumps({name: said[name] for name in kept if said.get(name)}, ensure_ascii=False)[:3000]
            return
        counts = said["counts"]
        least = self.cell.model_calls + len(ARGUMENTS) if self.cell.runs == 1 else 1
        if counts["refused"] or counts["unconsumed"] or counts["served"] < least:
            yield f"identical, but {counts}"
        if set(said["guard"]) != set(held if guard == "auto" else ("audit",)):
            yield f"identical, but held by {', '.join(said['guard'])} of {', '.join(held)}"


def _bare_problems(ran: _Ran) -> list[str]:
    """The program has to do its work before anything can be said about recording it."""
    if ran.status != 0:
        return [f"status {ran.status}: {ran.stderr.decode(errors='replace')[-2000:]}"]
    expected = dict.fromkeys(ARGUMENTS, 1)
    return [] if ran.effects == expected and ran.ledger else [f"effects: {ran.effects}, ledger: {ran.ledger!r}"]


def _differences(bare: _Ran, under: _Ran) -> list[str]:
    """What is not as it was without the recorder."""
    names = ("status", "stdout", "stderr", "effects", "ledger")
    return [
        f"{name}: {str(getattr(bare, name))[-1500:]} bare, {str(getattr(under, name))[-1500:]} recorded"
        for name in names
        if getattr(bare, name) != getattr(under, name)
    ]


@contextmanager
def _counting(port: int, *, really: bool) -> Iterator[list[object]]:
    """Count connections to a port; unless ``really``, leave it dead."""
    knocks: list[object] = []
    if not really:
        yield knocks
        return
    listening = socket.create_server(("127.0.0.1", port))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, address = listening.accept()
                knocks.append(address)
                connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield knocks
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


_SHOWN = frozenset(("openai", "anthropic", "httpx", "httpx2", "aiohttp", "langchain-core", "langgraph", "mcp"))
