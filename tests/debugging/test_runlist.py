"""The order and the filter of the run list."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.runlist import arrange, matches
from agentdbg.model.records import ErrorInfo, RunStatus, RunSummary

OLD = RunSummary("old", RunStatus.OK, started_at=1.0)
NEW = RunSummary("new", RunStatus.FAILED, started_at=9.0, error=ErrorInfo("TimeoutError", ""))
LIVE = RunSummary("live", RunStatus.RUNNING, started_at=0.5)


def names(*runs: RunSummary, words: str = "") -> list[tuple[str, int]]:
    return [(row.run.run_id, row.depth) for row in arrange(runs, words)]


def test_live_runs_on_top_then_the_newest() -> None:
    assert names(OLD, LIVE, NEW) == [("live", 0), ("new", 0), ("old", 0)]


def test_replays_stand_under_their_source() -> None:
    replay = replace(NEW, run_id="replay", replay_of="old", started_at=20.0)
    again = replace(NEW, run_id="again", replay_of="replay", started_at=21.0)
    assert names(OLD, NEW, replay, again) == [("new", 0), ("old", 0), ("replay", 1), ("again", 2)]


def test_a_replay_without_its_source_and_a_ring_of_replays_are_still_listed() -> None:
    orphan = replace(NEW, run_id="orphan", replay_of="gone")
    a, b = replace(OLD, run_id="a", replay_of="b"), replace(OLD, run_id="b", replay_of="a")
    assert sorted(names(orphan, a, b)) == [("a", 0), ("b", 0), ("orphan", 0)]


def test_every_word_of_the_filter_must_be_there() -> None:
    run = replace(NEW, tags={"desk": "eu"}, flag="paid twice", models=("m-1",))
    for words in ("FAILED", "timeout desk=eu", "flagged m-1", "paid", ""):
        assert matches(run, words)
    assert not matches(run, "failed us")
    assert names(OLD, NEW, words="timeouterror") == [("new", 0)]
