from __future__ import annotations

from pathlib import Path

from agentdbg.config.resources import demo_runs_dir
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.outline import outline, outline_of
from tests.support.run_records import RunRecords


def test_an_outline_says_the_same_as_the_steps() -> None:
    store = DirectoryStore(demo_runs_dir())
    for run_id in store.run_ids():
        source = store.open(run_id)
        assert outline(source) == [outline_of(step) for step in source.steps()]
        source.close()


def test_open_failed_and_forked_steps_have_an_outline_too(tmp_path: Path) -> None:
    run = RunRecords(tmp_path / "s", "r")
    run.tool("pay", {"n": 1}, effect="write", status=None, key="k")
    run.tool("look", {"n": 2}, status="error", error={"type": "Down", "message": "no"}, lane="0.7")
    run.note("checkpoint", "plan", {"a": 1}, lane="0.9")
    run.leave()
    source = DirectoryStore(tmp_path / "s").open("r")
    found = outline(source)
    assert found == [outline_of(step) for step in source.steps()]
    assert [step.lane for step in found] == ["0", "0", "0.0", "0.1"]
    assert [step.status for step in found] == ["open", "open", "error", "ok"]
