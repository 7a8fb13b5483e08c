"""The list of runs: newest first, filtered, as a table or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.program import agentdbg, document


def ids(*arguments: str | Path) -> list[str]:
    return [run["run_id"] for run in document("runs", *arguments)["runs"]]


def test_runs_are_listed_newest_first_with_all_members(store: Path) -> None:
    found = document("runs", "--store", store)
    assert found["schema"] == "agentdbg.runs/1"
    assert [run["run_id"] for run in found["runs"]] == ["mail-9", "refund-8", "refund-7"]
    run: dict[str, Any] = found["runs"][2]
    assert run["status"] == "failed"
    assert run["agent"] == "desk"
    assert run["mode"] == "recorded"
    assert run["replay_of"] is None
    assert run["thread_id"] == "t-1"
    assert run["tags"] == {"ticket": "7", "team": "a"}
    assert run["flag"] is None
    assert run["steps"] == 6
    assert run["started_at"] == 1_770_000_000.0
    assert run["ended_at"] == 1_770_000_002.5
    assert run["error"] == {"type": "Down", "message": "[/z]"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--status", "failed"], ["refund-7"]),
        (["--status", "lost", "--status", "ok"], ["mail-9", "refund-8"]),
        (["--thread", "t-2"], ["refund-8"]),
        (["--tag", "ticket=7", "--tag", "team=a"], ["refund-7"]),
        (["--tag", "ticket=7", "--tag", "team=b"], []),
        (["--since", "1h"], []),
        (["--since", "2020-01-01"], ["mail-9", "refund-8", "refund-7"]),
    ],
)
def test_runs_are_filtered(options: list[str], expected: list[str], store: Path) -> None:
    assert ids(*options, "--store", store) == expected


def test_the_table_shows_recorded_text_as_it_is(store: Path) -> None:
    done = agentdbg("runs", "--store", store)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["run", "status", "agent", "started", "steps", "mode", "about"]
    assert lines[1].startswith("mail-9    lost")
    assert "Down: [/z]" in lines[3]


def test_an_empty_store_says_so_and_is_no_error(tmp_path: Path) -> None:
    done = agentdbg("runs", "--store", tmp_path / "none")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no runs in" in done.stderr
    assert document("runs", "--store", tmp_path / "none")["runs"] == []


@pytest.mark.parametrize("options", [["--status", "bad"], ["--tag", "nosign"], ["--since", "soon"]])
def test_a_filter_that_makes_no_sense_is_one_line(options: list[str]) -> None:
    done = agentdbg("runs", *options)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
