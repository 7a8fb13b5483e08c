"""A program whose children make the first calls is one run too; agents in its children are runs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agentdbg.model.records import RunStatus
from agentdbg.store.address import open_store, resolve
from agentdbg.store.reader import DirectoryRunSource
from tests.support.recorded import Recorded

CHILD = """
import sys, uuid, threading

def note(text):
    return text

if __name__ == "__main__":
    print(uuid.uuid4())
    if "call" in sys.argv:
        threads = [threading.Thread(target=note, args=(str(n),)) for n in range(2)]
        [each.start() for each in threads]
        [each.join() for each in threads]
"""
PROGRAM = """
import subprocess, sys

def note(text):
    return text

if __name__ == "__main__":
    for words in (["quiet"], ["call"]):
        subprocess.run([sys.executable, "child.py", *words], check=True)
    AFTER
"""
AGENT = """
import agentdbg

@agentdbg.agent
def run(order):
    return order

if __name__ == "__main__":
    run("o-1")
"""


def _record(folder: Path, program: str, child: str = CHILD) -> list[Recorded]:
    (folder / "child.py").write_text(child, encoding="utf-8")
    (folder / "program.py").write_text(program, encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AGENTDBG")}
    command = [sys.executable, "-m", "agentdbg.cli.main", "--store", "store", "record", "--tool", "note=read", "--"]
    done = subprocess.run(
        [*command, sys.executable, "program.py"], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    store = open_store(str(folder / "store"))
    return [Recorded(resolve(store, name)) for name in sorted(os.listdir(folder / "store" / "runs"))]


def test_a_child_begins_the_run_of_the_program(tmp_path: Path) -> None:
    (found,) = _record(tmp_path, PROGRAM.replace("AFTER", "note('mine')"))
    assert found.status is RunStatus.OK
    assert sorted(found.arguments(step)["text"] for step in found.steps) == ["0", "1", "mine"]
    assert len({step.lane for step in found.steps}) == 3, "threads of a child have lanes of their own"
    summary = found.source.summary()
    assert isinstance(found.source, DirectoryRunSource)
    assert summary.agent == "program.py" and "launch" in str(summary.meta["entry"])
    assert [str(each.members["what"]) for each in found.source.extra_events("process")] == [
        "python child.py quiet",
        "python child.py call",
    ]
    drawn = [str(each.members["lane"]) for each in found.source.extra_events("draws")]
    assert len(drawn) == 2, "what a child drew that made no call is kept too"


def test_a_program_that_leaves_all_calls_to_its_children_is_a_run(tmp_path: Path) -> None:
    (found,) = _record(tmp_path, PROGRAM.replace("AFTER", "pass"))
    assert (found.status, len(found.steps)) == (RunStatus.OK, 2)


def test_agents_in_children_are_runs_of_their_own(tmp_path: Path) -> None:
    found = _record(tmp_path, PROGRAM.replace("AFTER", "pass"), AGENT)
    assert [each.source.summary().agent for each in found] == ["run", "run"]
