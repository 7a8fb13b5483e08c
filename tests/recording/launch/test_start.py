"""A recorded process pays little for it, and its launcher hears of every failure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.recording.launch import directory
from agentdbg.recording.launch.environment import BOOTSTRAP, child_environment
from agentdbg.recording.launch.examine import examine
from agentdbg.recording.launch.interpreter import Interpreter

LIGHT = "agentdbg.recording.launch.start agentdbg.recording.launched agentdbg.recording.start agentdbg.recording.hooks"
HEAVY = ("json", "typing", "dataclasses", "asyncio", "inspect", "re", "random", "pathlib", "tomllib", "collections")


def test_what_the_bootstrap_loads_is_light() -> None:
    code = (
        f"import sys; before = set(sys.modules); import {', '.join(LIGHT.split())}; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(done.stdout.split())


def launched(place: str, code: str, bootstrap: Path) -> subprocess.CompletedProcess[str]:
    env = {**child_environment(dict(os.environ), place, None, None), "PYTHONPATH": str(bootstrap)}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


def test_a_recorder_that_cannot_be_loaded_is_reported_and_the_program_runs(tmp_path: Path) -> None:
    broken = tmp_path / "agentdbg/recording/launch"
    shutil.copytree(BOOTSTRAP, broken / "bootstrap")
    place = directory.make(None, None, {})
    code = "import sys; print([type(f).__name__ for f in sys.meta_path], 'sitecustomize' in sys.modules)"
    (broken / "__init__.py").write_text('raise ValueError("quote \\" and \\n line \\u2028 \\x1b")')
    for parent in (broken.parent, broken.parent.parent):
        (parent / "__init__.py").write_text("")
    done = launched(place, code, broken / "bootstrap")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Agentdbg" not in done.stdout
    (event,) = [json.loads(line) for line in Path(place, "events.jsonl").read_text().splitlines()]
    assert event["event"] == "failed"
    assert event["reason"].startswith(f"Python {sys.version.split()[0]}: ValueError: quote ' and ? line ? ?")
    directory.remove(place, directory.Told())


@pytest.mark.parametrize("gone", ["launch.json", "events.jsonl", "."])
def test_a_launcher_that_has_gone_is_no_reason_to_fail(gone: str) -> None:
    place = directory.make(None, None, {})
    if gone == ".":
        shutil.rmtree(place)
    else:
        os.unlink(f"{place}/{gone}")
    code = "import sys; from agentdbg.recording import launched; print(launched.active, launched.random_seed)"
    done = launched(place, code, Path(BOOTSTRAP))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("True ")
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.wide
def test_every_seam_that_is_there_is_patched() -> None:
    """The project's own environment has httpx and httpx2."""
    seen = examine(Interpreter((sys.executable,)), dict(os.environ), {"httpx": "httpx", "httpx2": "httpx2"})
    assert [(seam.state, seam.reason) for seam in seen.seams] == [("patched", "")] * 2
