"""The run of a pack goes into a store, or nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pack_files import HOSTILE, pack_of
from tests.support.program import agentdbg, document


@pytest.fixture
def pack(store: Path, tmp_path: Path) -> Path:
    path = tmp_path / "r.pack"
    assert agentdbg("pack", "refund-7", "-o", path, "--store", store).returncode == 0
    return path


def test_an_unpacked_run_is_a_run_of_the_store(pack: Path, store: Path, tmp_path: Path) -> None:
    found = document("unpack", pack, "--store", tmp_path / "new")
    assert (found["run_id"], found["skeleton"], found["files"]) == ("refund-7", False, 3)
    assert found["packed_by"].startswith("agentdbg")
    unpacked = document("show", "refund-7", "--store", tmp_path / "new")
    assert unpacked["steps"] == document("show", "refund-7", "--store", store)["steps"]


def test_a_run_that_is_there_already_is_one_line(pack: Path, store: Path) -> None:
    done = agentdbg("unpack", pack, "--store", store)
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr == f"agentdbg: {pack}: there is a run refund-7 in {store} already\n"


@pytest.mark.parametrize("what", ["a symbolic link", "an absolute path", "a newer major format", "no gzip"])
def test_a_hostile_pack_is_one_line(what: str, tmp_path: Path) -> None:
    (tmp_path / "r.pack").write_bytes(HOSTILE[what])
    done = agentdbg("unpack", tmp_path / "r.pack", "--store", tmp_path / "new")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (5, "", 1)
    assert list((tmp_path / "new" / "runs").iterdir()) == []


def test_a_torn_pack_is_shown_but_not_unpacked(pack: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.pack"
    torn.write_bytes(pack.read_bytes()[:-20])
    done = agentdbg("unpack", torn, "--store", tmp_path / "new")
    assert done.returncode == 5
    assert "nothing was unpacked, 'agentdbg show PACK' prints what is left" in done.stderr
    shown = agentdbg("show", torn, "--brief")
    assert shown.returncode == 0
    assert "refund-7: the pack ends early" in shown.stderr


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = agentdbg("unpack", tmp_path / "no.pack", "--store", tmp_path / "new")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_the_packs_of_other_tests_are_good(tmp_path: Path) -> None:
    (tmp_path / "r.pack").write_bytes(pack_of())
    assert agentdbg("unpack", tmp_path / "r.pack", "--store", tmp_path / "new").returncode == 0
