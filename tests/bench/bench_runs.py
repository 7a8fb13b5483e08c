"""Ten thousand runs of three model calls with 40 KB of prompt and tools: files and bytes a run, time to list them.

The calls go through the recorded HTTP client, without sockets. With ``--quick`` there are fewer runs and the list's
goal shrinks with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from tests.bench.complete import require_steps
from tests.bench.samples import chat, completion, words
from tests.bench.table import Row, seconds
from tests.bench.worker import Worker, environment

RUNS = 10_000
PROMPT = 40_000


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Record them, count, list with and without the index."""
    count = 200 if quick else RUNS
    environ = environment(folder)
    with Worker(__name__, environ=environ) as worker:
        made = worker.ask({"record": count})
    root = folder / "store" / "runs"
    for run in list(root.iterdir())[:20]:
        require_steps(run, 4)
    sizes = [file.stat() for file in root.rglob("*") if file.is_file()]
    most = max(sum(1 for file in run.rglob("*") if file.is_file()) for run in root.iterdir())
    name = f"{count:,} three-call runs, {PROMPT // 1000} KB prompt and tools"
    yield Row(f"{name}: files in the largest", most, "files", 5)
    written = sum(stat.st_size for stat in sizes) / count / 1000
    yield Row(f"{name}: bytes a run", written, "KB", None, made["sent"] / count / 1000, "raw JSON lines")
    yield Row(f"{name}: blocks a run", sum(stat.st_blocks * 512 for stat in sizes) / count / 1000, "KB")
    yield Row(f"{name}: time to record a run", made["seconds"] / count * 1000, "ms")
    goal = count / RUNS
    with Worker(__name__, environ=environ) as worker:
        yield Row(f"list {count:,} runs, no index yet", worker.ask({"list": count}), "s", goal)
    warm = []
    for _ in range(3):
        with Worker(__name__, environ=environ) as worker:
            warm.append(worker.ask({"list": count}))
    yield Row(f"list {count:,} runs, index in the cache, new process", median(warm), "s", goal)


def child() -> Callable[[dict[str, int]], object]:
    """Records runs, or lists them."""
    return lambda asked: _listed(asked["list"]) if "list" in asked else _recorded(asked["record"])


def _recorded(count: int) -> dict[str, float]:
    import agentdbg
    from tests.bench.seam import Model

    model = Model()
    prompt = chat(PROMPT, 0, tools=12)

    @agentdbg.agent(name="small")
    def small(number: int) -> None:
        for step in range(3):
            last = {"role": "user", "content": words(150, 3 * number + step)}
            request = {**prompt, "messages": [*prompt["messages"], last]}
            model.ask(request, completion(words(400, 3 * number + step)))

    def all_runs() -> None:
        for number in range(count):
            small(number)

    return {"seconds": seconds(all_runs), "sent": model.sent}


def _listed(count: int) -> float:
    import os

    from agentdbg.store.directory import DirectoryStore

    store = DirectoryStore(Path(os.environ["AGENTDBG_STORE"]))
    found: list[object] = []
    taken = seconds(lambda: found.extend(store.summaries()))
    if len(found) != count:
        raise RuntimeError(f"{len(found)} runs listed of {count}")
    return taken
