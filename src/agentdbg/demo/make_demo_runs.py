"""Record the runs that ship with agentdbg, for real, into `demo_runs/`.

    python -m agentdbg.demo.make_demo_runs                                  # incident and twin, on the stand-in
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import agentdbg
from agentdbg.demo.desk import AFTER_CHANGE, BEFORE_CHANGE
from agentdbg.demo.server import DemoServer

PREFERRED_PORT = 8765
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
class Recording:
    """One run to record: its id, and the command after ``python -m``."""

    run_id: str
    command: tuple[str, ...]


def desk_recordings(base_url: str) -> tuple[Recording, ...]:
    """The incident, and the same ticket before the policy change."""
    policies = {"refund-incident": AFTER_CHANGE, "refund-before-policy-change": BEFORE_CHANGE}
    desk = ("agentdbg.demo.refund_desk", "--ticket", "T-2041", "--base-url", base_url)
    return tuple(Recording(run_id, (*desk, "--policy-version", policy)) for run_id, policy in policies.items())


def real_model_recording(base_url: str) -> Recording:
    """Three calls of a real model."""
    return Recording("smollm2-tool-loop", ("agentdbg.demo.real_model", "--base-url", base_url))


def record(recording: Recording, scratch: Path, key: str) -> Path:
    """Run one command recorded, in a bare environment.

    Args:
        recording: What to run.
        scratch: Directory for everything that the run leaves.
        key: Key for redaction.

    Returns:
        The recorded run's directory.

    Raises:
        NotRecordedError: The program failed, or its recording is not complete.
    """
    store, work = scratch / "store", scratch / recording.run_id / "work"
    home, site = scratch / recording.run_id / "home", work / "site"
    home.mkdir(parents=True)
    shutil.copytree(Path(agentdbg.__file__).parent, site / "agentdbg", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "sitecustomize.py").write_text(NEUTRAL_MACHINE, encoding="utf-8")
    environment = {
        "AGENTDBG_REDACTION_KEY": key,
        "AGENTDBG_RUN_ID": recording.run_id,
        "AGENTDBG_STORE": str(store),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(site),
        "TZ": "UTC",
    }
    done = subprocess.run(
        [sys.executable, "-m", *recording.command],
        cwd=work,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    found = store / "runs" / recording.run_id
    if done.returncode != 0 or "agentdbg:" in done.stderr:
        raise NotRecordedError(f"{recording.run_id} ended with {done.returncode}\n{done.stderr}")
    if not (found / "run.json").is_file():
        raise NotRecordedError(f"{recording.run_id} ran, but was not recorded")
    status = json.loads((found / "run.json").read_bytes()).get("status")
    if status not in ("ok", "waiting"):
        raise NotRecordedError(f"{recording.run_id} is recorded as {status}")
    return found


def publish(runs: Sequence[Path], out: Path) -> None:
    """Put recorded runs into a store in place of earlier ones of the same id."""
    (out / "runs").mkdir(parents=True, exist_ok=True)
    for run in runs:
        target = out / "runs" / run.name
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(run, target)
        make_neutral(target / "run.json")
        (out / "store.json").write_text('{"format":"0.1","public":true}\n', encoding="ascii")


def make_neutral(file: Path) -> None:
    """Drop the recording machine's own directories from a ``run.json``; the events hold neutral paths already."""
    content = json.loads(file.read_bytes())
    content.pop("roots", None)
    entry = content["entry"]
    entry["argv"][0] = entry["callable"]["file"]
    entry["path"] = [path for path in entry.get("path", []) if path.startswith("{")]
    file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def stand_in() -> DemoServer:
    """The stand-in server on its usual port, or on a free one when that is taken."""
    try:
        return DemoServer(PREFERRED_PORT, pause=0.05)
    except OSError:
        return DemoServer(pause=0.05)


def main(argv: list[str] | None = None) -> int:
    """Record all demo runs."""
    parser = argparse.ArgumentParser(prog="python -m agentdbg.demo.make_demo_runs")
    parser.add_argument("--out", type=Path, default=Path("demo_runs"), help="store to put the runs into")
    parser.add_argument("--real-model", metavar="URL", help="base URL of a server with a real model")
    options = parser.parse_args(argv)
    key = secrets.token_hex(32)
    with tempfile.TemporaryDirectory() as directory, stand_in() as server:
        recordings = desk_recordings(server.url)
        if options.real_model:
            recordings += (real_model_recording(options.real_model),)
        try:
            runs = [record(recording, Path(directory), key) for recording in recordings]
        except NotRecordedError as error:
            print(f"nothing published: {error}", file=sys.stderr)
            return 1
        publish(runs, options.out)
    print(f"{len(runs)} runs in {options.out}: {', '.join(run.name for run in runs)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
