"""``@twin`` on the command line."""

from __future__ import annotations

from pathlib import Path

from agentdbg.config.resources import demo_runs_dir
from tests.support.program import agentdbg

INCIDENT = demo_runs_dir() / "runs" / "refund-incident"


def test_the_twin_of_a_run_named_by_its_path_is_looked_for_in_its_own_store(tmp_path: Path) -> None:
    found = agentdbg("diff", INCIDENT, "@twin", "--store", tmp_path / "none")
    assert found.returncode == 1
    assert "agentdbg: twin refund-before-policy-change: the last good run before a version changed" in found.stderr


def test_a_run_without_a_twin_says_what_was_looked_for() -> None:
    found = agentdbg("diff", "smollm2-tool-loop", "@twin", "--store", demo_runs_dir())
    assert found.returncode == 5
    assert "no other run of agent 'real-model-tool-loop' ended well and began alike" in found.stderr


def test_a_twin_needs_a_run_before_it() -> None:
    found = agentdbg("show", "@twin", "--store", demo_runs_dir())
    assert (found.returncode, found.stdout) == (2, "")
    assert "name that run first" in found.stderr
