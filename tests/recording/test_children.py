"""Processes that a launched program starts write into its run, each from the step and in a lane of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.model.records import Kind, RunStatus
from agentdbg.store.address import open_store, resolve
from tests.support.recorded import Recorded

WORKER = """
import sys

def note(text):
    return text

if __name__ == "__main__":
    note(sys.argv[1])
"""
PROGRAM = """
import multiprocessing, os, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

def work(number):
    return number * 2

def child(number):
    work(number)

def save(path):
    subprocess.run([sys.executable, "-c", f"import worker; worker.note({path!r})"], check=True)

def run(methods):
    work(0)
    subprocess.run([sys.executable, "worker.py", "run"], check=True)
    subprocess.run([sys.executable, "worker.py", "elsewhere"], check=True, env={"PATH": os.environ["PATH"]})
    os.system(f"{sys.executable} worker.py system")
    for method in methods:
        context = multiprocessing.get_context(method)
        process = context.Process(target=child, args=(1,))
        process.start()
        process.join()
        with context.Pool(2) as pool:
            print(pool.map(work, [10, 11]))
        with ProcessPoolExecutor(2, mp_context=context) as executor:
            print(list(executor.map(work, [20, 21])))
    save("inside")
    if os.fork() == 0:
        work(99)
        os._exit(0)
    os.wait()

if __name__ == "__main__":
    run(sys.argv[1:])
"""
TOOLS = ("work=read", "note=read", "save=write")


def _recorded(folder: Path, *methods: str) -> Recorded:
    (folder / "worker.py").write_text(WORKER, encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    told = [word for tool in TOOLS for word in ("--tool", tool)]
    command = [sys.executable, "-m", "agentdbg.cli.main", "--store", "store", "record", *told, "--"]
    program = [sys.executable, "program.py", *methods]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AGENTDBG")}
    done = subprocess.run([*command, *program], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    bare = subprocess.run(program, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (bare.stdout, bare.stderr, 0)
    store = open_store(str(folder / "store"))
    assert len(os.listdir(folder / "store" / "runs")) == 1, "one program is one run, however many processes it has"
    return Recorded(resolve(store, "@"))


def _numbers(found: Recorded) -> list[int]:
    return sorted(found.arguments(step)["number"] for step in found.steps if step.name == "work")


def _check(found: Recorded, methods: int) -> None:
    assert found.status is RunStatus.OK
    assert _numbers(found) == sorted([0, 99, *[1, 10, 11, 20, 21] * methods])
    notes = {found.arguments(step)["text"]: step for step in found.steps if step.name == "note"}
    assert set(notes) == {"run", "system", "inside"}, "a child with an environment of its own is not recorded"
    save = found.named("save")
    assert notes["inside"].parent == save.id
    lanes = [step.lane for step in found.steps if step.kind is Kind.TOOL and step.name == "work"]
    assert len(set(lanes)) == len(lanes), "work in several processes is in several lanes"


def test_children_are_of_the_run_that_started_them(tmp_path: Path) -> None:
    _check(_recorded(tmp_path, "spawn"), 1)


@pytest.mark.wide
def test_every_way_to_start_a_child(tmp_path: Path) -> None:
    _check(_recorded(tmp_path, "fork", "spawn", "forkserver"), 3)
