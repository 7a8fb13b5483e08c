"""Past successful runs, replayed to prove that the records are usable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentdbg.model.records import Mode, RunStatus, RunSummary
from agentdbg.replay.run import ReplayOptions
from agentdbg.replay.verify import Verification, Verified, drawn, verify
from agentdbg.replay.verify_history import FILE, history, keep
from agentdbg.store.address import open_store
from tests.support.memory_source import MemoryStore
from tests.support.replay_lab import ReplayLab
from tests.support.run_records import RunRecords

PROGRAM = """
import agentdbg, helper

@agentdbg.tool(effect="read")
def look(word):
    return {"word": word}

@agentdbg.agent
def agent():
    look("first")
    return look(helper.WORD)

if __name__ == "__main__":
    agent()
"""


def _verify(lab: ReplayLab, sample: int = 5, *, trust: bool = False, keep_all: bool = False) -> Verification:
    store = open_store(str(lab.store))
    options = ReplayOptions("audit", 30, trust, (), store)
    return verify(store, options, sample=sample, seed="s", keep=keep_all)


def test_runs_are_replayed_failures_keep_their_difference_and_the_history_grows(lab: ReplayLab) -> None:
    helper = lab.place / "helper.py"
    helper.write_text("WORD = 'one'\n")
    lab.record(PROGRAM)
    lab.record()
    lab.record("import agentdbg\n@agentdbg.agent\ndef a():\n    raise ValueError\na()\n", name="bad.py", ok=False)
    found = _verify(lab)
    assert (found.verdict, found.hit_rate, found.previous) == ("passed", 1.0, None)
    assert {run.run_id for run in found.runs} == {"run-1", "run-2"}
    assert sorted(path.name for path in (lab.store / "runs").iterdir()) == ["run-1", "run-2", "run-3"]
    helper.write_text("WORD = 'two'\n")
    found = _verify(lab, 1)
    assert (found.verdict, found.previous) == ("failed", 1.0)
    (failed,) = found.failed
    assert failed.first_divergence is not None
    assert failed.first_divergence["name"] == "look"
    assert (failed.served, failed.total) == (1, 2)
    kept = lab.run(str(failed.replay_run))
    assert kept.summary().tags["verify"] == "exact"
    assert kept.summary().replay_of == failed.run_id
    kept.close()
    dates = history(open_store(str(lab.store)))
    assert [each["verdict"] for each in dates] == ["passed", "failed"]
    assert (lab.store / FILE).stat().st_mode & 0o077 == 0
    assert _verify(lab, 1).runs[0].run_id == failed.run_id


def test_runs_that_cannot_be_replayed_are_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "store"
    RunRecords(path, "no-entry").end()
    stranger = RunRecords(path, "stranger", entry={"callable": {"module": "m", "qualname": "f", "file": ""}})
    stranger.end()
    store = open_store(str(path))
    found = verify(store, ReplayOptions("audit", 5, False, (), store), sample=5, seed="s")
    assert found.verdict == "nothing"
    assert dict(found.skipped)["no-entry"].startswith("the record has no entry point")
    assert "--trust" in dict(found.skipped)["stranger"]
    assert history(store) == []


def _summary(run_id: str, mode: Mode = Mode.RECORDED, status: RunStatus = RunStatus.OK) -> RunSummary:
    return RunSummary(run_id, status, mode=mode)


def test_a_seed_draws_the_same_runs_whatever_their_order() -> None:
    runs = [_summary(f"r{n}") for n in range(30)]
    others = [_summary("x", Mode.EXACT), _summary("y", status=RunStatus.FAILED), _summary("z", status=RunStatus.LOST)]
    first = [each.run_id for each in drawn([*runs, *others], "a")]
    assert first == [each.run_id for each in drawn(runs[::-1], "a")]
    assert first != [each.run_id for each in drawn(runs, "b")]
    assert sorted(first) == sorted(each.run_id for each in runs)


def test_a_drop_of_the_hit_rate_fails() -> None:
    run = Verified("r", "identical", "", 9, 10, 1.0, None, None)
    found = Verification("s", "d", "s", 1, (run,), (), 0.9)
    assert found.verdict == "passed"
    assert replace(found, previous=0.95).verdict == "dropped"
    assert replace(found, previous=None).verdict == "passed"


def test_a_store_that_takes_nothing_has_its_history_in_the_users_directory(isolated_user: Path) -> None:
    store = MemoryStore()
    keep(store, {"date": "2026-01-02", "hit_rate": 0.5})
    keep(store, {"date": "2026-01-01", "hit_rate": 0.4})
    assert [each["hit_rate"] for each in history(store)] == [0.4, 0.5]
