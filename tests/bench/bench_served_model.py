"""Exact replay of HTTP model calls with 20 KB requests, against vcrpy playing the same calls from its cassette.

Both run the same loop with a real OpenAI client in a process of its own, no server listening. The time of a call is
that of the loop; vcrpy's includes its share of loading (or saving) the cassette, since a cassette is opened for every
test. vcrpy matches bodies, as an exact replay does; its default, which serves whatever comes next for that address,
stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench import replaying
from tests.bench.samples import words
from tests.bench.table import Row, in_turns
from tests.bench.worker import Worker, environment

CALLS = 100


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Record with both while the server is there, replay with both when it is gone."""
    from tests.support.scripted_server import Reply, ScriptedServer

    calls, rounds = (30, 2) if quick else (CALLS, 7)
    environ = environment(folder)
    bare = {**environ, "AGENTDBG": "off"}
    cassette = str(folder / "cassette.yaml")
    with ScriptedServer(Reply(text=words(1_000, 7))) as server:
        url = server.openai_url
        recorded = replaying.record("full", "models", calls, url, environ=environ)
        taped = replaying.run_program("vcr-record", calls, url, cassette, environ=environ)
    replaying.record("empty", "models", 0, url, environ=environ)
    with Worker("tests.bench.replaying", environ=environ) as worker:
        served, vcr, in_order, nobody, whole, empty = in_turns(
            rounds,
            lambda: float(worker.ask("full")["call"]),
            lambda: replaying.run_program("vcr", calls, url, cassette, environ=environ),
            lambda: replaying.run_program("vcr-in-order", calls, url, cassette, environ=environ),
            lambda: replaying.run_program("nobody", calls, url, environ=bare),
            lambda: float(worker.ask("full")["whole"]),
            lambda: float(worker.ask("empty")["whole"]),
        )
    name = f"served 20 KB model call ({calls} calls)"
    rest = (whole - empty) / calls
    yield Row(name, served * 1000, "ms", 2, vcr * 1000, "vcrpy", 1 / 25)
    yield Row("  … the same", served * 1000, "ms", None, in_order * 1000, "vcrpy, bodies not matched")
    ours, theirs = (served - nobody) * 1000, (vcr - nobody) * 1000
    yield Row(f"  … without the SDK's own {nobody * 1000:.1f} ms", ours, "ms", 2, theirs, "vcrpy", 1 / 25)
    yield Row("  … whole replay per call, less an empty run", rest * 1000, "ms", None, vcr * 1000, "vcrpy")
    yield Row("  … replay of the empty run", empty * 1000, "ms")
    yield Row("  … recording it", recorded * 1000, "ms", None, taped * 1000, "vcrpy")
