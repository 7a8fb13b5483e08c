"""A launched program's environment differs in the launch's own variables and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agentdbg.recording.launch.environment import BOOTSTRAP, child_environment, new_hash_seed, with_bootstrap


def test_nothing_else_changes() -> None:
    base = {"A": "1", "PYTHONHASHSEED": "5", "AGENTDBG_SPAWN": "of a launch around this one"}
    made = child_environment(base, "/launch", "/store", None)
    assert made == {
        "A": "1",
        "PYTHONHASHSEED": "5",
        "PYTHONPATH": BOOTSTRAP,
        "AGENTDBG_LAUNCH": "/launch",
        "AGENTDBG_STORE": "/store",
    }
    assert child_environment({}, "/launch", None, "a=read")["AGENTDBG_TOOLS"] == "a=read"


@pytest.mark.parametrize("path", ["", "/a", "/a:", ":/a", f"{BOOTSTRAP}:/a", f"/a:{BOOTSTRAP}", "/a::/b"])
def test_the_bootstrap_comes_first_and_once(path: str) -> None:
    places = with_bootstrap(path).split(os.pathsep)
    assert places[0] == BOOTSTRAP
    assert places[1:] == ([place for place in path.split(":") if place != BOOTSTRAP] if path else [])
    assert with_bootstrap(with_bootstrap(path)) == with_bootstrap(path)


def test_another_installations_bootstrap_goes() -> None:
    other = "/opt/lib/agentdbg/recording/launch/bootstrap"
    assert with_bootstrap(f"{other}:/a") == f"{BOOTSTRAP}:/a"


def test_hash_seeds_are_ones_that_python_takes() -> None:
    seeds = {new_hash_seed() for _ in range(50)}
    assert len(seeds) > 40
    assert all(0 < int(seed) < 2**32 for seed in seeds)
    env = {**os.environ, "PYTHONHASHSEED": str(2**32 - 1)}
    assert subprocess.run([sys.executable, "-c", "pass"], env=env, check=False).returncode == 0
