"""Pdb on the command line's terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentdbg.cli.main import main
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import DESK


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    lines: list[str] = []
    monkeypatch.setattr("agentdbg.cli.replay.on_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt: lines.pop(0))
    # what `converse` takes by default was looked up when it was defined
    monkeypatch.setattr("agentdbg.replay.pdb_talk.converse.__defaults__", (lambda prompt: lines.pop(0), print))
    yield lines


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> ReplayLab:
    made = ReplayLab(tmp_path_factory.mktemp("lab"))
    made.record(DESK)
    return made


def replay(lab: ReplayLab, *options: str) -> int:
    return main(["--store", str(lab.store), "replay", "run-1", "--exact", "--guard", "audit", *options])


def test_it_is_held_at_a_step_and_goes_on_or_stops(
    lab: ReplayLab, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    typed += ["p found['total']", "n", "c"]
    assert replay(lab, "--pdb", "3") == 0
    said = capsys.readouterr().out
    assert "held before tool refund" in said and "120" in said
    assert "a person used pdb in it" in " ".join(said.split())
    typed += ["q"]
    assert replay(lab, "--pdb", "0") == 2
    said = capsys.readouterr().out
    assert "held before tool look" in said and "aborted" in said


def test_what_cannot_be_done_is_said_in_one_line(
    lab: ReplayLab, typed: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert replay(lab, "--pdb", "99") == 2
    assert "no call at or after step 99" in capsys.readouterr().err
    monkeypatch.setattr("agentdbg.cli.replay.on_terminal", lambda: False)
    assert replay(lab, "--pdb", "3") == 2
    assert "--pdb needs a terminal" in capsys.readouterr().err
    assert typed == []
