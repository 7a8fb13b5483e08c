"""Recording a program of ``programs.py`` and replaying it exactly, timed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bench.complete import require_steps
from tests.bench.programs import cassette_of, taken_of
from tests.bench.table import clock
from tests.bench.worker import ROOT


def run_program(what: str, calls: int, *arguments: str, environ: Mapping[str, str]) -> float:
    """Run a program; returns the seconds that a call took in its loop, a share of vcrpy's loading and saving included.

    Raises:
        RuntimeError: It failed.
    """
    command = [sys.executable, "-m", "tests.bench.programs", what, str(calls), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=dict(environ), capture_output=True, text=True)
    if done.returncode or "degraded" in done.stderr:
        raise RuntimeError(f"{what} failed: {done.stderr[-2000:]}")
    own = cassette_of(done.stdout) / calls if what.startswith("vcr") else 0.0
    return taken_of(done.stdout) + own


def record(run_id: str, what: str, calls: int, *arguments: str, environ: Mapping[str, str]) -> float:
    """Record a program as ``run_id``; returns the seconds that a call took in its loop."""
    taken = run_program(what, calls, *arguments, environ={**environ, "AGENTDBG_RUN_ID": run_id})
    require_steps(Path(environ["AGENTDBG_STORE"]) / "runs" / run_id, calls + 1)
    return taken


def child() -> Callable[[str], dict[str, float]]:
    """Replays the run that is asked for; answers with the whole time and the time of a call in the child's loop."""
    from agentdbg.replay.run import ReplayOptions, exact
    from agentdbg.store.directory import DirectoryStore
    from agentdbg.store.reader import DirectoryRunSource

    def replay(run_id: str) -> dict[str, float]:
        place = Path(os.environ["AGENTDBG_STORE"])
        store = DirectoryStore(place)
        began = clock()
        outcome = exact(DirectoryRunSource(place / "runs" / run_id), ReplayOptions("audit", 300, False, (), store))
        whole = clock() - began
        if outcome.verdict != "identical":
            raise RuntimeError(f"{run_id}: {outcome.verdict}: {outcome.reason} {outcome.log}")
        return {"whole": whole, "call": taken_of(outcome.log)}

    return replay
