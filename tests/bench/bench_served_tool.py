"""Exact replay of a run of 2 KB tool calls: what a served call costs in the replay's child, and in the whole replay.

The whole is cassette, child, verdict and publication, less the same for a run without calls, divided by the calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench import replaying
from tests.bench.table import Row, in_turns
from tests.bench.worker import Worker, environment, without_redaction

CALLS = 5_000


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Redaction off, then on."""
    calls, rounds = (1_000, 3) if quick else (CALLS, 5)
    for words, goal in (("no redaction", 40), ("redaction", 100)):
        home = folder / words.replace(" ", "-")
        environ = environment(home)
        if goal == 40:
            without_redaction(home)
        live = replaying.record("full", "tools", calls, environ=environ) * 1e6
        replaying.record("empty", "tools", 0, environ=environ)
        with Worker("tests.bench.replaying", environ=environ) as worker:
            loop: list[float] = []

            def full(worker: Worker = worker, loop: list[float] = loop) -> float:
                answer = worker.ask("full")
                loop.append(answer["call"] * 1e6)
                return float(answer["whole"])

            def empty(worker: Worker = worker) -> float:
                return float(worker.ask("empty")["whole"])

            whole, start = in_turns(rounds, full, empty)
        served = sorted(loop)[len(loop) // 2]
        yield Row(f"served 2 KB tool call, {words} ({calls:,} calls)", served, "µs", goal, live, "recording it")
        yield Row("  … whole replay per call, less an empty run", (whole - start) / calls * 1e6, "µs")
        yield Row("  … replay of the empty run", start * 1000, "ms")
