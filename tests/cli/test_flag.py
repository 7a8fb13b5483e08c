"""A run can be marked as bad after the fact."""

from __future__ import annotations

from pathlib import Path

from tests.support.program import agentdbg, document
from tests.support.run_records import RunRecords


def test_a_flag_is_seen_in_the_list(tmp_path: Path) -> None:
    RunRecords(tmp_path / "store", "r1").end()
    record = (tmp_path / "store" / "runs" / "r1" / "run.json").read_bytes()
    done = agentdbg("flag", "r1", "--reason", "paid twice", "--store", tmp_path / "store")
    assert (done.returncode, done.stdout) == (0, "flagged r1: paid twice\n")
    assert document("runs", "--store", tmp_path / "store")["runs"][0]["flag"] == "paid twice"
    assert (tmp_path / "store" / "runs" / "r1" / "run.json").read_bytes() == record


def test_a_secret_in_the_reason_is_not_written(tmp_path: Path) -> None:
    RunRecords(tmp_path / "store", "r1").end()
    secret = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3"
    done = agentdbg("flag", "r1", "--reason", f"used {secret}", "--store", tmp_path / "store")
    assert done.returncode == 0
    assert secret not in done.stdout
    assert all(secret.encode() not in file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())


def test_a_reason_is_needed(store: Path) -> None:
    assert agentdbg("flag", "refund-7", "--store", store).returncode == 2
