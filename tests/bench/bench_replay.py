"""What a replay costs beside its calls: the child's start, the kernel's layers, and live calls of a regression replay.

The start is a whole replay of a run without calls, in turns with the same program run bare. The regression replays all
its model calls live, against the server that the bare program asks too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import replaying
from tests.bench.programs import taken_of
from tests.bench.samples import words
from tests.bench.table import Row, clock, in_turns, seconds
from tests.bench.worker import Worker, environment


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Record an empty run and one with model calls; replay both in turns with the bare programs."""
    from tests.support.scripted_server import Reply, ScriptedServer

    calls, rounds = (20, 3) if quick else (60, 7)
    environ = environment(folder)
    bare = {**environ, "AGENTDBG": "off"}
    with ScriptedServer(Reply(text=words(1_000, 7))) as server:
        url = server.openai_url
        replaying.record("empty", "models", 0, url, environ=environ)
        replaying.record("full", "models", calls, url, environ=environ)
        with Worker("tests.bench.bench_replay", environ=environ) as worker:

            def asked(what: str, guard: str, run_id: str) -> Callable[[], float]:
                return lambda: float(worker.ask([what, guard, run_id]))

            layers, audit, alone = in_turns(
                rounds,
                asked("exact", "auto", "empty"),
                asked("exact", "audit", "empty"),
                lambda: seconds(lambda: replaying.run_program("models", 0, url, environ=bare)),
            )
            live, recorded, plain = in_turns(
                rounds,
                asked("regression", "auto", "full"),
                lambda: replaying.run_program("models", calls, url, environ=environ),
                lambda: replaying.run_program("models", calls, url, environ=bare),
            )
    yield Row("exact replay of an empty run, all layers", layers * 1000, "ms", None, alone * 1000, "bare program")
    yield Row("  … under the audit hook alone", audit * 1000, "ms", None, alone * 1000, "bare program")
    yield Row("  … the layers' share", (layers - audit) * 1000, "ms", None, audit * 1000, "audit hook alone")
    yield Row(f"live 20 KB model call in a regression ({calls})", live * 1000, "ms", None, plain * 1000, "bare agent")
    yield Row("  … recorded", recorded * 1000, "ms", None, plain * 1000, "bare agent")


def child() -> Callable[[list[str]], float]:
    """Replays what is asked for; answers with the seconds of an exact replay, or of a live call."""
    from agentdbg.replay.regression import RegressionOptions, regression
    from agentdbg.replay.run import ReplayOptions, exact
    from agentdbg.store.directory import DirectoryStore
    from agentdbg.store.reader import DirectoryRunSource

    place = Path(os.environ["AGENTDBG_STORE"])

    def replay(asked: list[str]) -> float:
        what, guard, run_id = asked
        source = DirectoryRunSource(place / "runs" / run_id)
        options = ReplayOptions(guard, 300, False, (), DirectoryStore(place))
        began = clock()
        outcome = exact(source, options) if what == "exact" else regression(source, RegressionOptions(options, start=1))
        whole = clock() - began
        if outcome.verdict not in ("identical", "same"):
            raise RuntimeError(f"{run_id}: {outcome.verdict}: {outcome.reason} {outcome.log}")
        return whole if what == "exact" else taken_of(outcome.log)

    return replay
