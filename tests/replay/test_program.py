"""Programs without a word of ours in them: recorded by ``agentdbg record``, started again by their command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, random, sys, threading, time, uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

BEGAN = datetime.now()

def look(order, at):
    with open(os.environ["OUTSIDE"], "a") as file:
        file.write("look")
    return {"order": order}

def tell(text):
    with open(os.environ["OUTSIDE"], "a") as file:
        file.write("tell")
    return text.upper()

def run(words):
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda n: look(f"{n} {words}", str(BEGAN)), range(3)))
    thread = threading.Thread(target=tell, args=(f"{uuid.uuid4()} {random.random()}",))
    thread.start()
    thread.join()
    time.sleep(0.01)
    print(tell(f"{found} {time.time()} {sorted({'a', 'b', 'c'}, key=hash)}"), __name__, sys.argv[1:])

if __name__ == "__main__":
    run(sys.argv[1:])
    ENDING
"""
ENDINGS = {
    "returns": ("pass", 0),
    "exit_0": ("sys.exit()", 0),
    "exit_3": ("sys.exit(3)", 3),
    "exit_text": ("sys.exit('no good')", 1),
    "crash": ("raise ValueError('no good')", 1),
    "hard_exit_0": ("sys.stdout.flush(); os._exit(0)", 0),
    "hard_exit_4": ("sys.stdout.flush(); os._exit(4)", 4),
    "thread_goes_on": ("threading.Timer(0.05, tell, ['late']).start()", 0),
}
STARTS = {
    "script": ["program.py", "a b", "--c"],
    "module": ["-m", "package.inner", "a b"],
    "options": ["-X", "utf8", "-W", "ignore", "-O", "program.py"],
    "code": ["-c", "import package.inner; package.inner.run(['x'])"],
}


def _agentdbg(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AGENTDBG")}
    environ["OUTSIDE"] = str(folder / "outside")
    command = [sys.executable, "-m", "agentdbg.cli.main", "--store", str(folder / "store"), *words]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=120)


def _replayed(folder: Path, start: list[str], ending: str, status: int) -> dict[str, object]:
    text = PROGRAM.replace("ENDING", ending)
    (folder / "program.py").write_text(text, encoding="utf-8")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "inner.py").write_text(text, encoding="utf-8")
    names = ("look", "tell", "package.inner:look", "package.inner:tell")
    tools = [word for name in names for word in ("--tool", f"{name}={'read' if 'look' in name else 'write'}")]
    recorded = _agentdbg(folder, "record", *tools, "--", sys.executable, *start)
    assert recorded.returncode == status, recorded.stderr
    before = (folder / "outside").read_text()
    assert before.count("look") == 3
    replayed = _agentdbg(folder, "replay", "@", "--exact", "--guard", "audit", "--json")
    assert (folder / "outside").read_text() == before
    found: dict[str, object] = json.loads(replayed.stdout)
    return found


@pytest.mark.parametrize("name", ENDINGS)
def test_a_program_replays_whatever_way_it_ends(tmp_path: Path, name: str) -> None:
    found = _replayed(tmp_path, ["program.py", "a"], *ENDINGS[name])
    assert (found["verdict"], found["hit_rate"]) == ("identical", 1.0), found["reason"]


@pytest.mark.parametrize("name", STARTS)
def test_a_program_replays_whatever_way_it_was_started(tmp_path: Path, name: str) -> None:
    found = _replayed(tmp_path, STARTS[name], "pass", 0)
    assert (found["verdict"], found["hit_rate"]) == ("identical", 1.0), found["reason"]


def test_a_program_that_has_gone_is_named(tmp_path: Path) -> None:
    _replayed(tmp_path, ["program.py"], "pass", 0)
    (tmp_path / "program.py").unlink()
    done = _agentdbg(tmp_path, "runs", "--json")
    run_id = next(row["run_id"] for row in json.loads(done.stdout)["runs"] if row["mode"] == "recorded")
    found = _agentdbg(tmp_path, "replay", run_id, "--exact", "--guard", "audit")
    assert found.returncode == 5
    assert "program.py" in found.stdout


@pytest.mark.parametrize("options", [[], ["-"], ["-i", "-c", "pass"]])
def test_a_program_that_was_typed_says_so(tmp_path: Path, options: list[str]) -> None:
    from tests.support.launching import record

    typed = b"def look(x): return x\n\nimport agentdbg\nprint(agentdbg.tool(look)(1))\n"
    recorded = record([sys.executable, *options], tmp_path, stdin=typed)
    assert (recorded.status, recorded.stdout) == (0, b"1\n")
    found = _agentdbg(tmp_path, "replay", "@", "--store", str(tmp_path / ".store"), "--exact", "--json")
    document = json.loads(found.stdout)
    assert (document["verdict"], "typed or piped" in document["reason"]) == ("not_replayable", True)
