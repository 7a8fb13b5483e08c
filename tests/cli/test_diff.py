"""Two runs compared from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.config.resources import demo_runs_dir
from tests.support.memory_source import plain_steps, run_of
from tests.support.program import agentdbg, document
from tests.support.run_records import RunRecords

INCIDENT, TWIN = "refund-incident", "refund-before-policy-change"
DEMO = demo_runs_dir()


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Runs that are equal, that differ in hostile text, that are empty, running, and without bodies."""
    store = tmp_path / "store"
    for run_id, reply in (("one", "fine"), ("same", "fine"), ("other", "\x1b[2J[red]x[/y]\u202e")):
        run = RunRecords(store, run_id)
        run.model("m", [{"role": "user", "content": "hello"}], {"text": reply})
        run.tool("look", {"id": 1}, {"n": reply})
        run.end()
    live = RunRecords(store, "live")
    live.model("m", [{"role": "user", "content": "hello"}], status=None)
    live.leave()
    empty = RunRecords(store, "empty").leave()
    for file in (empty / "events").iterdir():
        file.write_bytes(b"")
    pruned = RunRecords(store, "pruned")
    pruned.model("m", [{"role": "user", "content": "hello"}], {"text": "fine"})
    pruned.tool("look", {"id": 2})
    body_file = next((pruned.end() / "bodies").iterdir())
    body_file.write_bytes(b"")
    return store


def test_incident_and_twin_name_cause_and_lost_field_in_one_line() -> None:
    found = agentdbg("diff", INCIDENT, "@twin", "--store", DEMO)
    assert found.returncode == 1
    first = found.stdout.splitlines()[0]
    assert first.startswith("differs by version: step 8 tool get_schema_mapping, result $.requires_manual_approval: ")
    assert '(absent) → "approval.manual"' in first
    assert "schema_mapping.json" in first
    assert f"twin {TWIN}: " in found.stderr


def test_the_document_has_answers_divergence_cause_and_segments() -> None:
    found = document("diff", INCIDENT, TWIN, "--store", DEMO)
    assert found["schema"] == "agentdbg.diff/1"
    assert [answer["question"] for answer in found["answers"]] == [
        "versions",
        "retrieved",
        "arguments",
        "results",
        "final",
        "intended",
    ]
    assert [answer["changed"] for answer in found["answers"]] == ["yes", "no", "yes", "yes", "yes", "unknown"]
    assert found["cause"] == "version"
    divergence = found["first_divergence"]
    assert (divergence["step"], divergence["kind"], divergence["path"]) == (8, "tool", "$.requires_manual_approval")
    assert (divergence["expected"], divergence["got"]) == ("(absent)", '"approval.manual"')
    assert divergence["id"]
    assert {row["sign"] for row in found["segments"]} == {"=", "~"}
    (changed,) = [row for row in found["segments"] if row["cause"] == "input.history"]
    assert len(changed["hash_a"]) == len(changed["hash_b"]) == 64
    assert changed["source"] == "step 14"


def test_one_step_is_compared_field_by_field() -> None:
    found = document("diff", INCIDENT, TWIN, "--step", "14", "--store", DEMO)
    assert found["first_divergence"]["path"] == "$.messages[7].content→$.requires_manual_approval"
    assert found["cause"] == "input.history"
    assert {entry["of"] for entry in found["differences"]} == {"input", "output"}
    same = document("diff", INCIDENT, TWIN, "--step", "2", "--store", DEMO)
    assert same["first_divergence"] is None and same["differences"] == []


def test_equal_runs_are_the_same(pairs: Path) -> None:
    found = agentdbg("diff", "one", "same", "--store", pairs)
    assert found.returncode == 0
    assert found.stdout.splitlines()[0] == "same: nothing differs between one and same"


def test_a_run_and_itself_are_the_same_and_said_to_be(pairs: Path) -> None:
    found = agentdbg("diff", "one", "one", "--store", pairs)
    assert found.returncode == 0
    assert "both are the same run, one" in found.stderr


@pytest.mark.parametrize(
    ("a", "b", "status", "line"),
    [
        ("one", "empty", 5, "run empty has no steps: there is nothing to compare"),
        ("one", "nothere", 5, "no run 'nothere'"),
        ("@twin", "one", 2, "@twin is the twin of the run named before it"),
        ("live", "one", 0, "run live is still running: compared as far as it has come"),
        ("one", "pruned", 1, "compared by hash alone"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(pairs: Path, a: str, b: str, status: int, line: str) -> None:
    found = agentdbg("diff", a, b, "--store", pairs)
    assert found.returncode == status
    assert [text for text in found.stderr.splitlines() if line in text]


def test_a_step_that_is_not_there_is_refused(pairs: Path) -> None:
    found = agentdbg("diff", "one", "same", "--step", "9", "--store", pairs)
    assert (found.returncode, found.stdout) == (2, "")
    assert "run one has no step 9; it has 3 steps" in found.stderr


def test_hostile_text_comes_out_harmless(pairs: Path) -> None:
    for options in ([], ["--json"], ["--step", "3"]):
        found = agentdbg("diff", "one", "other", *options, "--store", pairs)
        assert found.returncode == 1
        assert "\x1b" not in found.stdout + found.stderr
        assert "\u202e" not in found.stdout + found.stderr
    assert "[red]x[/y]" in agentdbg("diff", "one", "other", "--store", pairs).stdout


def test_runs_without_hashes_are_not_called_the_same() -> None:
    from agentdbg.cli.diff import _refuse_blind
    from agentdbg.cli.errors import Trouble
    from agentdbg.compare.parting import part

    with pytest.raises(Trouble, match="without hashes nobody can tell"):
        _refuse_blind(part(run_of(plain_steps(3)), run_of(plain_steps(3), run_id="run-2")))
    assert not part(run_of(plain_steps(3)), run_of(plain_steps(2))).same
