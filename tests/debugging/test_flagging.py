"""Flags are written by the store's notes, redacted first."""

from __future__ import annotations

import pytest

from agentdbg.debugging import flagging
from tests.support.refund_run import refund_store


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
