"""Two runs side by side, without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.compare.alignment import Stopped
from agentdbg.debugging.compared import ComparedRun, compare_runs, input_rows, suggest_twin
from agentdbg.model.records import Kind
from agentdbg.store.reader import DirectoryRunSource
from tests.support.memory_source import MemoryStore
from tests.support.refund_run import TWIN, refund_run, twin_run
from tests.support.run_records import RunRecords


def never() -> bool:
    return False


def beside_twin() -> ComparedRun:
    return compare_runs(refund_run(), twin_run(), never)


def sifted() -> ComparedRun:
    compared = beside_twin()
    assert list(compared.sift(never))
    compared.settle()
    return compared


def test_the_first_difference_is_the_policy_and_its_lost_field() -> None:
    compared = beside_twin()
    place = compared.parting_place
    assert place is not None
    here, there = compared.steps_at(place)
    assert here is not None and there is not None
    assert here.name == there.name == "policy_lookup"
    assert "requires_manual_approval" in compared.headline() or "$.version" in compared.headline()


def test_each_pair_has_a_sign_and_a_word() -> None:
    compared = sifted()
    words = {
        step.name: (compared.pairs[place].sign, compared.word(place))
        for place in range(len(compared.pairs))
        for step in compared.steps_at(place)[:1]
        if step is not None
    }
    assert words["order_lookup"] == ("=", "same")
    assert words["policy_lookup"] == ("~", "result")


def test_a_step_of_the_other_run_alone_stands_after_one_of_this_run() -> None:
    longer, shorter = refund_run(), refund_run("short", crash=True)
    compared = compare_runs(shorter, longer, never)
    assert sum(compared.following(index) for index in range(len(shorter.steps()))) > 0
    other_way = compare_runs(longer, shorter, never)
    alone = [pair for pair in other_way.pairs if pair.sign == "-"]
    assert alone and other_way.word(other_way.pairs.index(alone[0])) == "only"


def test_going_from_difference_to_difference_leaves_chance_out() -> None:
    compared = sifted()
    place, seen = -1, []
    while (following := compared.next_place(place, 1)) is not None:
        place = following
        seen.append(place)
    assert seen and all(compared.is_telling(place) for place in seen)
    assert compared.next_place(seen[0], -1) is None


def test_a_run_beside_itself_differs_in_nothing() -> None:
    compared = compare_runs(refund_run(), refund_run(), never)
    assert compared.parting_place is None
    assert compared.headline() == "a run compared with itself: nothing differs"


def test_sifting_stops_when_it_is_told_to() -> None:
    with pytest.raises(Stopped):
        list(beside_twin().sift(lambda: True))


def test_the_twin_is_suggested_with_its_reason() -> None:
    store = MemoryStore({source.run.run_id: source for source in (refund_run(), twin_run())})
    run_id, why = suggest_twin(store, refund_run(), never)
    assert run_id == TWIN
    assert "policy" in why
    assert suggest_twin(MemoryStore({}), refund_run(), never)[0] is None


def test_the_input_table_is_against_the_mate_or_the_call_before() -> None:
    incident = refund_run()
    last = [step for step in incident.steps() if step.kind is Kind.MODEL][-1]
    against_twin = input_rows(compare_runs(incident, twin_run(), never), incident, last)
    assert [row.sign for row in against_twin.differing] == ["~"]
    alone = input_rows(None, incident, last)
    assert {row.sign for row in alone.differing} == {"+"}


def test_runs_that_are_not_read_yet_are_compared_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentdbg.store.event_files.PIECE", 500)
    monkeypatch.setattr("agentdbg.store.reader.POLL_BUDGET_S", 0.0)
    places = []
    for name in ("a", "b"):
        run = RunRecords(tmp_path / "store", name)
        for number in range(40):
            run.tool("look", {"n": number}, {"id": number}, effect="read")
        run.end()
        places.append(tmp_path / "store" / "runs" / name)
    sources = [DirectoryRunSource(place) for place in places]
    for times, source in enumerate(sources):
        for _ in range(1 + 2 * times):
            source.poll()
        assert not source.complete
    compared = compare_runs(sources[0], sources[1], never)
    assert len(compared.pairs) == 41 and not any(map(compared.is_telling, compared.difference.paired.differing))
    for source in sources:
        source.close()
