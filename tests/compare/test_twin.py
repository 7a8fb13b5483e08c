from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentdbg.compare import twin
from agentdbg.compare.alignment import Stopped
from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.records import Kind, Mode, RunStatus, RunSummary, Segment, Step
from agentdbg.store.directory import DirectoryStore
from tests.support.memory_source import MemorySource, MemoryStore

PATH = ("look_up", "model", "decide", "pay")


class Desk:
    """A store of runs of one agent; time goes on with every run."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.opened: list[str] = []

    def run(
        self,
        run_id: str,
        path: Sequence[str] = PATH,
        *,
        asked: str = "refund A-1",
        policy: str = "p-1",
        status: RunStatus = RunStatus.OK,
        agent: str = "desk",
        flag: str | None = None,
        mode: Mode = Mode.RECORDED,
        replay_of: str | None = None,
    ) -> MemorySource:
        meta = {"versions": {"policy": {"value": policy, "origin": "recorded"}}}
        started = 1000.0 + len(self.store.runs)
        source = MemorySource(
            RunSummary(run_id, status, agent, mode, replay_of, flag=flag, started_at=started, meta=meta)  # type: ignore[arg-type]  # plain JSON
        )
        for n, name in enumerate(path):
            kind = Kind.MODEL if name == "model" else Kind.TOOL
            asks = [Segment("message", "user", source.put(text)) for text in ("be kind", asked)]
            source.add(Step(0, f"w:{n}", kind, name), asks if kind is Kind.MODEL else ())
        self.store.runs[run_id] = source
        return source

    def twin(self, source: MemorySource) -> twin.Twin | None:
        return twin.find(self.store, source)


def test_the_nearest_good_run_took_the_same_way_with_the_same_input() -> None:
    desk = Desk()
    desk.run("other-way", ("look_up", "refuse"))
    desk.run("same", PATH)
    desk.run("other-question", asked="where is my parcel?")
    found = desk.twin(desk.run("bad", (*PATH[:3], "crash"), status=RunStatus.FAILED))
    assert found == twin.Twin(
        "same", "the nearest good run of desk; 3 of the first 4 steps the same way, 2 of 2 input segments equal"
    )


def test_the_last_one_before_a_version_changed_is_preferred() -> None:
    desk = Desk()
    for n in range(3):
        desk.run(f"old-{n}", policy="p-0")
    for n in range(30):
        desk.run(f"new-{n}")
    found = desk.twin(desk.run("bad"))
    assert found is not None
    assert found.run_id == "old-2"
    assert found.why.startswith("the last good run before a version changed (policy); 4 of the first 4 steps")


def test_other_versions_do_not_outweigh_another_way() -> None:
    desk = Desk()
    desk.run("old", ("look_up", "refuse"), policy="p-0")
    desk.run("near")
    found = desk.twin(desk.run("bad"))
    assert found is not None and found.run_id == "near"


def test_failed_flagged_replayed_foreign_and_own_runs_are_no_twins() -> None:
    desk = Desk()
    desk.run("failed", status=RunStatus.FAILED)
    desk.run("lost", status=RunStatus.LOST)
    desk.run("flagged", flag="paid twice")
    desk.run("replay", mode=Mode.EXACT, replay_of="bad")
    desk.run("foreign", agent="mail")
    desk.run("begins-otherwise", ("mail", "model"))
    bad = desk.run("bad")
    assert desk.twin(bad) is None
    assert twin.missing(bad, desk.store) == (
        "run bad has no twin in memory: no other run of agent 'desk' ended well and began alike"
    )


def test_a_waiting_run_ended_well() -> None:
    desk = Desk()
    desk.run("waits", status=RunStatus.WAITING)
    found = desk.twin(desk.run("bad"))
    assert found is not None and found.run_id == "waits"


def test_a_run_that_cannot_be_opened_is_passed_over_and_few_are_opened() -> None:
    desk = Desk()
    for n in range(300):
        desk.run(f"good-{n}")
    desk.store.broken["good-299"] = OSError("gone")
    opened: list[str] = []
    open_run = desk.store.open

    def counting(run_id: str):
        opened.append(run_id)
        return open_run(run_id)

    desk.store.open = counting  # type: ignore[method-assign]
    found = desk.twin(desk.run("bad"))
    assert found is not None and found.run_id == "good-298"
    assert len(opened) <= twin.OPENED


def test_the_search_ends_when_its_answer_is_no_longer_wanted() -> None:
    desk = Desk()
    desk.run("good")
    with pytest.raises(Stopped):
        twin.find(desk.store, desk.run("bad"), should_stop=lambda: True)


def test_the_shipped_incident_has_its_twin() -> None:
    store = DirectoryStore(demo_runs_dir())
    found = twin.find(store, store.open("refund-incident"))
    assert found is not None
    assert found.run_id == "refund-before-policy-change"
    assert "schema_mapping.json" in found.why
