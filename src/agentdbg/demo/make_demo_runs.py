"""Record the runs that ship with agentdbg (`cases.py`), for real, into `demo_runs/`.

    python -m agentdbg.demo.make_demo_runs                                  # all cases on the stand-in
    python -m agentdbg.demo.make_demo_runs --real-model http://127.0.0.1:8811/v1   # and one with a real model

Each run is a process of its own with a bare environment, in a directory that holds a copy of agentdbg and nothing
else, on a machine called ``demo``: what is recorded says nothing about where it was recorded. The key for redaction
is made for the occasion and thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import agentdbg
from agentdbg.demo.cases import CASES, REAL_MODEL, TWIN, Case, Ending
from agentdbg.demo.server import DemoServer

PREFERRED_PORT = 8765
PAUSE_S = 0.05
KILL_WITHIN_S = 30.0
NEUTRAL_MACHINE = """\
import os, platform, socket
system = platform.uname()
os.uname = lambda: os.uname_result((system.system, "demo", "demo", "demo", system.machine))
socket.gethostname = platform.node = platform.release = lambda: "demo"
from agentdbg.store import liveness
liveness.boot_id = lambda: "demo"
"""


class NotRecordedError(Exception):
    """A run that cannot ship."""


@dataclass(frozen=True, slots=True)
class Studio:
    """Where runs are recorded.

    Attributes:
        scratch: Directory for everything that they leave.
        key: Key for redaction.
        pause: Seconds that the stand-in takes for an answer.
        real_model: Address of a server with a real model.
    """

    scratch: Path
    key: str
    pause: float = PAUSE_S
    real_model: str | None = None

    @property
    def store(self) -> Path:
        """Where the runs are recorded into."""
        return self.scratch / "store"

    def run(self, case: Case) -> Path:
        """Directory of a case's run."""
        return self.store / "runs" / case.run_id

    def work(self, case: Case) -> Path:
        """Working directory of a case's program."""
        return self.scratch / case.run_id / "work"


def record(case: Case, studio: Studio) -> Path:
    """Run one case recorded, in a bare environment; the recorded run's directory is returned.

    Raises:
        NotRecordedError: The program failed, or its recording is not what it is meant to be.
    """
    if case.replay_of:
        options = ("--store", str(studio.store), "replay", case.replay_of, "--exact", "--guard", "audit")
        return checked(case, studio, *run_program(case, studio, ("agentdbg.cli.main", *options)))
    with model_for(case, studio) as url:
        command = (case.module, *case.arguments, "--base-url", url)
        return checked(case, studio, *run_program(case, studio, command))


def run_program(case: Case, studio: Studio, command: Sequence[str]) -> tuple[int, str]:
    """Run a case's program to its end, or kill it where it is meant to be; exit status and stderr are returned."""
    environment = prepare(case, studio)
    words = [sys.executable, "-m", *command]
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(
            words, cwd=studio.work(case), env=environment, stdout=subprocess.DEVNULL, stderr=said
        ) as process:
            if case.ending is Ending.KILLED:
                kill_while_paying(process, case, studio)
        said.seek(0)
        return process.returncode, said.read()


def prepare(case: Case, studio: Studio) -> dict[str, str]:
    """Lay out a program's directories; its environment is returned."""
    work, home = studio.work(case), studio.scratch / case.run_id / "home"
    site = work / "site"
    home.mkdir(parents=True)
    shutil.copytree(Path(agentdbg.__file__).parent, site / "agentdbg", ignore=shutil.ignore_patterns(".*"))
    (site / "sitecustomize.py").write_text(NEUTRAL_MACHINE, encoding="utf-8")
    return {
        "AGENTDBG_REDACTION_KEY": studio.key,
        "AGENTDBG_RUN_ID": case.run_id,
        "AGENTDBG_STORE": str(studio.store),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(site),
        "TZ": "UTC",
    }


def kill_while_paying(process: subprocess.Popen[bytes], case: Case, studio: Studio) -> None:
    """Kill the program after the bank has the refund and before the tool returns."""
    ledger, events = studio.work(case) / "desk" / "ledger.jsonl", studio.run(case) / "events"
    until = time.monotonic() + KILL_WITHIN_S
    while process.poll() is None and time.monotonic() < until:
        if ledger.exists() and any(b'"e":"environment"' in file.read_bytes() for file in events.iterdir()):
            break
        time.sleep(0.01)
    process.kill()


def checked(case: Case, studio: Studio, status: int, said: str) -> Path:
    """The recorded run, when it is as it is meant to be.

    Raises:
        NotRecordedError: It is not.
    """
    found = studio.run(case)
    as_meant = status != 0 if case.ending is Ending.KILLED else status == 0
    if not as_meant or "agentdbg:" in said:
        raise NotRecordedError(f"{case.run_id} ended with {status}\n{said}")
    if not (found / "run.json").is_file():
        raise NotRecordedError(f"{case.run_id} ran, but was not recorded")
    recorded = json.loads((found / "run.json").read_bytes()).get("status")
    if recorded != case.ending.value:
        raise NotRecordedError(f"{case.run_id} is recorded as {recorded}, not as {case.ending.value}")
    return found


@contextmanager
def model_for(case: Case, studio: Studio) -> Iterator[str]:
    """Address of a case's model: the real one, or a stand-in on its usual port, or on a free one if that is taken."""
    if case is REAL_MODEL:
        yield str(studio.real_model)
        return
    try:
        server = DemoServer(PREFERRED_PORT, pause=studio.pause, busy_at=case.busy_at)
    except OSError:
        server = DemoServer(pause=studio.pause, busy_at=case.busy_at)
    with server:
        yield server.url


def publish(cases: Sequence[Case], studio: Studio, out: Path) -> None:
    """Put recorded runs into a store in place of earlier ones of the same id."""
    (out / "runs").mkdir(parents=True, exist_ok=True)
    for case in cases:
        target = out / "runs" / case.run_id
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(studio.run(case), target)
        make_neutral(target / "run.json", case)
    (out / "store.json").write_text('{"format":"0.1","public":true}\n', encoding="ascii")


def make_neutral(file: Path, case: Case) -> None:
    """Name the case in a ``run.json``, and drop what belongs to the recording machine; the events are neutral already.

    The seal goes too, for its key is thrown away, and the owner's host: nobody else can ask whether that process lives.
    """
    content = json.loads(file.read_bytes())
    content["tags"] = {"case": case.name, "about": case.about, **content.get("tags", {})}
    content.pop("roots", None)
    content.pop("seal", None)
    content["owner"].pop("host", None)
    entry = content["entry"]
    entry.pop("roots", None)
    entry["argv"][0] = entry["callable"]["file"]
    entry["path"] = [path for path in entry.get("path", []) if path.startswith("{")]
    file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def chosen(names: Sequence[str] | None, *, real_model: bool) -> list[Case]:
    """The cases to record, in that order: the twin is older than the incident, and a replay needs its source."""
    known = [*sorted(CASES, key=lambda case: case is not TWIN), *([REAL_MODEL] if real_model else [])]
    return [case for case in known if names is None or case.name in names]


def main(argv: list[str] | None = None) -> int:
    """Record all demo runs."""
    parser = argparse.ArgumentParser(prog="python -m agentdbg.demo.make_demo_runs")
    parser.add_argument("--out", type=Path, default=Path("demo_runs"), help="store to put the runs into")
    parser.add_argument("--real-model", metavar="URL", help="base URL of a server with a real model")
    parser.add_argument("--pause", type=float, default=PAUSE_S, help="seconds that the stand-in takes for an answer")
    parser.add_argument("--only", action="append", metavar="CASE", help="record this case alone; can be repeated")
    options = parser.parse_args(argv)
    cases = chosen(options.only, real_model=bool(options.real_model))
    with tempfile.TemporaryDirectory() as directory:
        studio = Studio(Path(directory), secrets.token_hex(32), options.pause, options.real_model)
        try:
            for case in cases:
                record(case, studio)
        except NotRecordedError as error:
            print(f"nothing published: {error}", file=sys.stderr)
            return 1
        publish(cases, studio, options.out)
    print(f"{len(cases)} runs in {options.out}: {', '.join(case.run_id for case in cases)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
