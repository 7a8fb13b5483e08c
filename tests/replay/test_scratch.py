"""Scratch directories: gone afterwards, and those of killed processes gone with the next replay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.replay.scratch import Scratch, ScratchDirectory, scratch_dir, sweep
from tests.support.replay_lab import SRC


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return scratch_dir()


def test_it_is_gone_afterwards(cache: Path) -> None:
    with Scratch() as place:
        assert {each.name for each in place.iterdir()} == {"cassette", "store", "tmp", "cwd"}
        (place / "views" / "0-work" / "work").mkdir(parents=True)
        (place / "views" / "0-work").chmod(0)
    assert list(cache.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_is_used_is_not(cache: Path) -> None:
    script = (
        "import os, signal\n"
        "from agentdbg.replay.scratch import Scratch\n"
        "Scratch().__enter__()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(SRC), "XDG_CACHE_HOME": str(cache.parents[1])},
        check=False,
    )
    assert len([each for each in cache.iterdir() if each.is_dir()]) == 1
    with ScratchDirectory("code-") as mine:
        sweep(cache)
        assert [each for each in cache.iterdir() if each.is_dir()] == [mine]
    assert list(cache.iterdir()) == []


def test_a_lock_that_points_elsewhere_removes_nothing(cache: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (cache / "replay-x").symlink_to(kept)
    (cache / "replay-x.lock").write_text("")
    (cache / "replay-y.lock").symlink_to(tmp_path / "nothing")
    (cache / "other.lock").write_text("")
    sweep(cache)
    assert kept.is_dir() and (cache / "other.lock").exists()
