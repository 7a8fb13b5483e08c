"""What people read about a replay."""

from __future__ import annotations

import pytest

from agentdbg.cli.invocation import Invocation
from agentdbg.cli.outcometext import print_outcome
from agentdbg.compare.trajectory import Divergence
from agentdbg.replay.outcome import Outcome


def shown(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    print_outcome(Invocation(), outcome)
    pairs = [line.split("  ", 1) for line in capsys.readouterr().out.splitlines()]
    return {name: value.strip() for name, value in pairs}


def test_identical_under_rules_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(Outcome("r", "identical", "", served=2, total=2, rules_used=("$.at",)), capsys)
    assert found["verdict"] == "identical under 1 rule"
    assert found["served"] == "2 of 2 calls"


def test_the_first_difference_names_step_place_and_both_values(capsys: pytest.CaptureFixture[str]) -> None:
    where = Divergence(4, "w:9", "model", "small-1", "$.messages[0]", "be kind", "be \x1b[31mcruel", "input.system")
    found = shown(Outcome("r", "diverged", "", first_divergence=where), capsys)
    assert found["first difference"] == "4 model small-1"
    assert found["at"] == "$.messages[0]"
    assert found["recorded"] == "be kind"
    assert "\x1b" not in found["replayed"]


def test_what_was_refused_is_named_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    stopped = {"effect": "connect", "detail": "10.0.0.1:443", "frame": "agent.py:7", "step": "w:1"}
    assert (
        shown(Outcome("r", "refused", "", refused=(stopped,)), capsys)["refused"] == "connect 10.0.0.1:443 (agent.py:7)"
    )


def test_what_a_crashed_program_printed_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(Invocation(), Outcome("r", "crashed", "", log="boom\x1b[31m\n"))
    said = capsys.readouterr()
    assert "boom" in said.err
    assert "\x1b" not in said.err + said.out
