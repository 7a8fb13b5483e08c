"""Flags are written by the store's notes, redacted first."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.debugging import flagging
from agentdbg.importing import open_one
from agentdbg.store.directory import DirectoryStore
from tests.support.mini_swe import said, write
from tests.support.refund_run import refund_run, refund_store
from tests.support.run_records import RunRecords


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What reached the store's notes."""
    notes: list[tuple[str, str]] = []
    monkeypatch.setattr(flagging, "set_flag", lambda _store, run_id, reason: notes.append((run_id, reason)))
    return notes


def test_a_reason_is_redacted_before_it_is_written(written: list[tuple[str, str]]) -> None:
    key = "sk-proj-" + "mD3x" * 9 + "Zq41"
    said = flagging.flag_runs(refund_store(), ["a", "b"], f" leaked {key} ")
    assert [run for run, _ in written] == ["a", "b"]
    assert all(reason.startswith("leaked ") and key not in reason for _, reason in written)
    assert said == "2 runs: flagged"


def test_no_reason_takes_the_flag_away(written: list[tuple[str, str]]) -> None:
    assert flagging.flag_runs(refund_store(), ["a"], "  ") == "a: flag removed"
    assert written == [("a", "")]


def test_a_foreign_run_is_flagged_and_not_the_run_of_that_id_in_the_store(tmp_path: Path) -> None:
    RunRecords(tmp_path / "store", "x").end()
    store = DirectoryStore(tmp_path / "store")
    source = open_one(write(tmp_path / "x.json", [said("user", "Go.")]))
    assert flagging.flag_open_run(source, store, "looks wrong") == "x: flagged"
    assert source.summary().flag == "looks wrong"
    assert store.open("x").summary().flag is None
    assert flagging.flag_open_run(source, store, "") == "x: flag removed"
    assert source.summary().flag is None


def test_an_open_run_of_the_store_is_flagged_there(written: list[tuple[str, str]]) -> None:
    source = refund_run()
    flagging.flag_open_run(source, refund_store(), "bad")
    assert written == [(source.summary().run_id, "bad")]
