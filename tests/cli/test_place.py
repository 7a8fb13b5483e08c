"""``--code``, ``--map`` and ``--env-file`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentdbg.cli.main import main

BASE = ["replay", "refund-8", "--exact", "--guard", "audit", "--trust"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--map", "x"], "no mapping"),
        (["--map", "/a=/does/not/exist"], "no directory"),
        (["--map", "/nowhere/at/all=/"], "nothing in the record of run refund-8 begins with that"),
        (["--env-file", "/does/not/exist"], "no such file"),
        (["--code", "older"], "older"),
    ],
)
def test_what_cannot_be_used_is_said(
    store: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BASE, *options, "--store", str(store)]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""


def test_recorded_code_that_is_not_in_the_record_is_not_replayable(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for mode in ("--exact", "--regression"):
        assert main([*BASE[:2], mode, *BASE[3:], "--code", "recorded", "--json", "--store", str(store)]) == 5
        found = json.loads(capsys.readouterr().out)
        assert (found["verdict"], found["mode"]) == ("not_replayable", mode.removeprefix("--"))
        assert "repository" in found["reason"]


def test_recorded_code_of_somebody_else_is_refused(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [each for each in BASE if each != "--trust"]
    assert main([*options, "--code", "recorded", "--store", str(store)]) == 3
    assert "--trust" in capsys.readouterr().err


def test_the_plan_says_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BASE, "--plan", "--code", "recorded", "--store", str(store)]) == 0
    assert "the record says nothing of a repository" in capsys.readouterr().out
