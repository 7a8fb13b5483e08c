"""Many runs at once: each complete, none mixed, open files bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.model.records import RunStatus
from tests.support.recorded import Recorded, environment, only_run, program, run, runs

CROWD = """
import asyncio, os, sys, threading
import agentdbg

RUNS, THREADS = int(sys.argv[1]), int(sys.argv[2])
most = 0

@agentdbg.tool(effect="read")
async def fetch(run, part):
    await asyncio.sleep(0)
    return f"{run}/{part}"

@agentdbg.tool(effect="write")
def store(run, value):
    return agentdbg.run_id()

@agentdbg.agent
async def desk(run):
    global most
    parts = await asyncio.gather(*(fetch(run, part) for part in range(3)))
    agentdbg.checkpoint("fetched", {"run": run, "parts": parts})
    ids = {store(run, parts), await asyncio.to_thread(store, run, parts), agentdbg.run_id()}
    most = max(most, len(os.listdir("/proc/self/fd")))
    return len(ids) == 1

async def crowd(prefix):
    results = await asyncio.gather(*(desk(f"{prefix}-{i}") for i in range(RUNS)))
    assert all(results)

def one(prefix):
    asyncio.run(crowd(prefix))

threads = [threading.Thread(target=one, args=(f"p{os.getpid()}t{i}",)) for i in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(most)
print(agentdbg.stats()["errors"], agentdbg.stats()["dropped"])
"""


def check(found: Recorded) -> str:
    """A run of the crowd is complete and its own; returns which one it is."""
    assert found.status is RunStatus.OK
    assert list(found.source.problems()) == []
    name = str(found.arguments(found.steps[0])["run"])
    assert [step.name for step in found.steps].count("fetch") == 3
    for step in found.steps[1:]:
        assert found.arguments(step)["run"] == name
        if step.name == "fetch":
            assert found.result(step) == f"{name}/{found.arguments(step)['part']}"
    assert len(found.steps) == 7 == found.source.summary().steps
    return name


def test_four_threads_with_many_runs_each(tmp_path: Path) -> None:
    done = run(tmp_path, CROWD, "40", "4")
    most, counts = done.stdout.splitlines()
    assert counts == "0 0" and done.stderr == ""
    assert int(most) < 120
    assert len({check(found) for found in runs(tmp_path / "store")}) == 160


@pytest.mark.wide
def test_four_threads_with_two_hundred_runs_each(tmp_path: Path) -> None:
    done = run(tmp_path, CROWD, "200", "4")
    most, counts = done.stdout.splitlines()
    assert counts == "0 0" and done.stderr == ""
    assert int(most) < 160  # 48 of ours; the loops and pools of four threads have theirs
    assert len({check(found) for found in runs(tmp_path / "store")}) == 800


def test_four_processes_share_a_store(tmp_path: Path) -> None:
    path = program(tmp_path, CROWD)
    command = [sys.executable, str(path), "10", "1"]
    env = environment(tmp_path)
    processes = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert (out.split("\n")[1], err) == ("0 0", "")
    found = runs(tmp_path / "store")
    assert len({check(one) for one in found}) == 40
    owners = [one.source.summary().meta["owner"] for one in found]
    assert len({owner["pid"] for owner in owners if isinstance(owner, dict)}) == 4


def test_threads_of_one_run_lose_nothing(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import threading
        import agentdbg

        @agentdbg.tool
        def add(n, i):
            return n * 1000 + i

        def work(n):
            for i in range(200):
                add(n, i)

        @agentdbg.agent
        def desk():
            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        desk()
        """,
    )
    assert done.stderr == ""
    found = only_run(tmp_path / "store")
    assert found.source.summary().steps == 801
    results = [found.result(step) for step in found.steps if step.name == "add"]
    assert sorted(results) == sorted(n * 1000 + i for n in range(4) for i in range(200))
    by_lane: dict[str, list[int]] = {}
    for step in found.steps:
        if step.name == "add":
            by_lane.setdefault(step.lane, []).append(found.result(step))
    assert all(values == sorted(values) and len(values) == 200 for values in by_lane.values())


def test_signal_handlers_may_record_while_something_is_being_recorded(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import signal
        import agentdbg

        @agentdbg.tool
        def add(n):
            return n

        @agentdbg.tool
        def tick():
            return "tick"

        @agentdbg.agent
        def desk():
            signal.signal(signal.SIGALRM, lambda *_: tick())
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
            for n in range(1000):
                add(n)
            signal.setitimer(signal.ITIMER_REAL, 0)

        desk()
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = only_run(tmp_path / "store")
    names = [step.name for step in found.steps]
    assert names.count("add") == 1000 and names.count("tick") > 0
    assert found.status is RunStatus.OK
