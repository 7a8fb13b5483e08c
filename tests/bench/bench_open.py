"""Opens a run of 100,000 steps and lists 10,000 runs; the unit is a raw read of the same bytes. Run as a program."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentdbg.model.records import StepStatus
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.reader import DirectoryRunSource
from agentdbg.store.step_list import StepList
from tests.support.records import WRITER, intent, outcome, ref, run_json, write_run, writer

MEMORY = """
import pathlib, re, sys
from agentdbg.store.reader import DirectoryRunSource
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
before = peak()
DirectoryRunSource(pathlib.Path(sys.argv[1])).index()
print(peak() - before)
"""
STEPS = 100_000
RUNS = 10_000


def big_run(store: Path, steps: int) -> Path:
    """A run of that many tool calls with the members that the recorder writes."""
    body = ref(b"x" * 2000, offset=123456)
    events: list[dict[str, Any]] = [writer(0), intent(1, "agent", "desk")]
    for i in range(steps - 1):
        seq = 2 + 2 * i
        fingerprint = f"fp1:{hashlib.sha256(b'%d' % seq).hexdigest()}"
        events.append(intent(seq, parent=1, effect="read", fp=fingerprint, args=body, attrs={"attempt": 1}))
        events.append(outcome(seq + 1, seq, result=body))
    return write_run(store, "big", events)


def fresh(source: DirectoryRunSource) -> StepList:
    """The steps of a source with none built yet."""
    source._steps.clear()
    return source.steps()


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes, the best of three."""
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def raw_read(paths: list[Path]) -> None:
    """Read files and do nothing with them."""
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass


def row(what: str, seconds: float, raw: float) -> None:
    """Print one row of the table."""
    print(f"{what:<52}{seconds * 1000:>10.1f} ms{seconds / raw:>9.1f} × raw read")


def opening(store: Path) -> None:
    """Index a big run, build steps of it, and say what it costs in memory."""
    root = big_run(store, STEPS)
    file = root / "events" / f"{WRITER}.jsonl"
    raw = timed(lambda: raw_read([file]))
    print(f"{STEPS:,} steps, {file.stat().st_size / 1e6:.0f} MB of events")
    row("raw read", raw, raw)
    source = DirectoryRunSource(root)
    row("index all", timed(lambda: DirectoryRunSource(root).index()), raw)
    row("open and first 30 ms of poll (first frame)", timed(lambda: DirectoryRunSource(root).poll()), raw)
    source.index()
    row("build one page of 50 steps", timed(lambda: fresh(source)[50_000:50_050]), raw)
    row("build 10,000 steps", timed(lambda: fresh(source)[:10_000]), raw)
    row("select all errors", timed(lambda: source.positions(statuses=[StepStatus.ERROR])), raw)
    grown = subprocess.run([sys.executable, "-c", MEMORY, str(root)], capture_output=True, text=True, check=True)
    print(f"peak memory of a process grows by {int(grown.stdout) / 1024:.0f} MB for {source.step_count():,} steps")


def listing(store: Path) -> None:
    """List many runs, without and with the index in the cache directory."""
    for i in range(RUNS):
        meta = run_json(
            f"run-{i:05d}", thread_id=f"t{i % 50}", tags={"env": "prod", "n": str(i)}, models=["m-1"], steps=7
        )
        root = store / "runs" / f"run-{i:05d}"
        root.mkdir(parents=True)
        (root / "run.json").write_text(str(meta).replace("'", '"'))
    files = [store / "runs" / f"run-{i:05d}" / "run.json" for i in range(RUNS)]
    raw = timed(lambda: raw_read(files))
    print(f"\n{RUNS:,} runs")
    row("raw read of every run.json", raw, raw)
    began = time.perf_counter()
    DirectoryStore(store).summaries()
    row("list, no index yet", time.perf_counter() - began, raw)
    row("list, index in the cache directory", timed(lambda: DirectoryStore(store).summaries()), raw)
    warm = DirectoryStore(store)
    row("list again in the same process", timed(warm.summaries), raw)


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        opening(Path(folder, "one"))
        listing(Path(folder, "many"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
