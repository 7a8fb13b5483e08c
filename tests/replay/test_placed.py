"""Exact replays on recorded code and on mapped paths, with real programs in real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.config.paths import cache_dir
from agentdbg.model.records import Mode
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.plan import plan_exact, plan_regression
from agentdbg.replay.regression import RegressionOptions
from agentdbg.replay.run import ReplayOptions, ReplayRefused, exact
from agentdbg.replay.session import ReplaySession
from agentdbg.store.address import open_store
from tests.support.git_lab import below_git, commit, git, repository, say
from tests.support.replay_lab import ReplayLab


def _options(lab: ReplayLab, **options: object) -> ReplayOptions:
    given: dict[str, object] = {"code": "recorded", "trust": False, "guard": "audit", **options}
    return ReplayOptions(timeout=30, tolerate=(), store=open_store(str(lab.store)), **given)  # type: ignore[arg-type]


def _exact(lab: ReplayLab, address: str = "run-1", **options: object) -> Outcome:
    source = lab.run(address)
    try:
        return exact(source, _options(lab, **options))
    finally:
        source.close()


def test_recorded_code_goes_the_recorded_way_where_the_current_code_does_not(lab: ReplayLab) -> None:
    place = repository(lab)
    say(place, "dirty")
    lab.record()
    say(place, "fixed")
    commit(place)
    before, status = below_git(place), git(place, "status", "--porcelain")
    found = _exact(lab)
    assert found.verdict == "identical", found.reason
    assert any(note.startswith("code as recorded: commit ") for note in found.notes)
    assert _exact(lab, code="current").verdict == "diverged"
    assert (below_git(place), git(place, "status", "--porcelain")) == (before, status)
    assert not list((cache_dir() / "replays").iterdir())
    again = lab.run(str(found.replay_run))
    assert again.summary().mode is Mode.EXACT
    assert str(place) in str(again.summary().meta["entry"])
    again.close()
    source = lab.run()
    remarks = plan_exact(source, _options(lab)).remarks
    source.close()
    assert any(each.about == "code" and each.text.startswith("code as recorded") for each in remarks)


def test_a_regression_runs_the_recorded_code_too_however_it_is_asked_for(lab: ReplayLab) -> None:
    place = repository(lab)
    lab.record()
    say(place, "fixed")
    commit(place)
    source = lab.run()
    for code, verdict in (("recorded", "unaffected"), ("current", "changed")):
        options = RegressionOptions(_options(lab, code=code))
        remarks = [each.about for each in plan_regression(source, options).remarks]
        assert ("code" in remarks) is (code == "recorded")
        session = ReplaySession(source, options)
        session.start()
        found = session.wait(60)
        assert found.verdict == verdict, found.reason
    options = RegressionOptions(_options(lab))
    (place / ".git").rename(place / ".git-elsewhere")
    assert [each.about for each in plan_regression(source, options).obstacles] == ["code"]
    source.close()


def test_what_cannot_be_put_together_is_not_replayable(lab: ReplayLab) -> None:
    place = repository(lab)
    lab.record()
    (place / ".git").rename(place / ".git-elsewhere")
    found = _exact(lab)
    assert found.verdict == "not_replayable"
    assert "no repository" in found.reason


def test_recorded_code_of_a_stranger_is_not_run(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(lab)
    lab.record()
    monkeypatch.setattr("agentdbg.replay.placed.is_own_code", lambda source: False)
    with pytest.raises(ReplayRefused, match="--trust"):
        _exact(lab)
    assert _exact(lab, trust=True).verdict == "identical"


def test_a_program_that_has_moved_is_found_by_its_mapping(lab: ReplayLab, tmp_path: Path) -> None:
    program = (
        "import agentdbg, os\n@agentdbg.tool(effect='read')\ndef look():\n    return {'there': 1}\n"
        "@agentdbg.agent\ndef agent(q):\n    return look()\nif __name__ == '__main__':\n    agent(1)\n"
    )
    lab.record(program, name="old/agent.py")
    (tmp_path / "old").rename(tmp_path / "new")
    assert _exact(lab, code="current").verdict == "not_replayable"
    moves = [(str(tmp_path / "old"), str(tmp_path / "new"))]
    found = _exact(lab, code="current", moves=moves)
    (tmp_path / "new").rename(tmp_path / "old")
    assert found.verdict == "identical", found.reason


def test_variables_from_a_file_reach_the_program_and_not_the_record(lab: ReplayLab) -> None:
    lab.record(
        "import agentdbg, os\n@agentdbg.agent\ndef agent():\n    return os.environ['SHOP_MODE'] == 'night'\n"
        "if __name__ == '__main__':\n    agent()\n",
        env={"SHOP_MODE": "night"},
    )
    assert _exact(lab, code="current").verdict == "diverged"
    found = _exact(lab, code="current", env={"SHOP_MODE": "night"})
    assert found.verdict == "identical", found.reason
    made = lab.store / "runs" / str(found.replay_run)
    assert not any(b"night" in file.read_bytes() for file in made.rglob("*") if file.is_file())
