from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.compare.alignment import Stopped
from agentdbg.compare.pairs import PairedRuns, pair_outlines, pair_runs
from agentdbg.compare.parting import part
from agentdbg.compare.trajectory import compare
from agentdbg.config.resources import demo_runs_dir
from agentdbg.model.records import Kind, RunStatus
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.outline import StepOutline
from tests.support.memory_source import plain_steps, run_of


def tool(name: str, arguments: str, result: str = "r", *, lane: str = "0", status: str = "ok") -> StepOutline:
    return StepOutline("tool", name, lane, status, None, arguments, result, None, f"fp1:{arguments}", None)


def model(given_hash: str, result: str = "r", *, lane: str = "0") -> StepOutline:
    return StepOutline("model", "m", lane, "ok", given_hash, None, result)


def rows(left: list[StepOutline], right: list[StepOutline]) -> list[tuple[str, int | None, int | None]]:
    return [pair[:3] for pair in pair_outlines(left, right)[0]]


steps = st.lists(
    st.builds(
        tool,
        st.sampled_from("ab"),
        st.sampled_from("xy"),
        st.sampled_from("rs"),
        lane=st.sampled_from(("0", "0.0", "0.1")),
    ),
    max_size=14,
)


@given(steps, steps)
def test_every_step_of_both_runs_stands_in_one_pair(a, b) -> None:
    pairs, _ = pair_outlines(a, b)
    assert sorted(pair.i for pair in pairs if pair.i is not None) == list(range(len(a)))
    assert sorted(pair.j for pair in pairs if pair.j is not None) == list(range(len(b)))
    assert [pair.i for pair in pairs if pair.i is not None] == list(range(len(a)))
    for pair in pairs:
        assert bool(pair.aspects) == (pair.sign == "~")


@given(steps)
def test_a_run_and_itself_are_equal_everywhere(a) -> None:
    assert {pair.sign for pair in pair_outlines(a, list(a))[0]} <= {"="}


def test_a_pair_says_in_what_it_differs() -> None:
    pairs, _ = pair_outlines(
        [model("h1"), tool("look", "x", "old"), tool("pay", "y", status="error")],
        [model("h2", "other"), tool("look", "x", "new"), tool("pay", "z")],
    )
    assert [pair.aspects for pair in pairs] == [("input", "output"), ("result",), ("arguments", "status")]


def test_a_call_made_again_is_paired_with_the_same_call() -> None:
    left = [tool("look", "x", "1"), tool("look", "y", "2")]
    right = [tool("look", "w", "9"), tool("look", "y", "3")]
    assert rows(left, right) == [("~", 0, 0), ("~", 1, 1)]
    assert rows(left[1:], right) == [("+", None, 0), ("~", 0, 1)]


def test_one_more_step_among_many_is_one_row() -> None:
    left = [tool(f"t{n % 7}", str(n)) for n in range(500)]
    found = rows(left, [*left[:250], tool("extra", "e"), *left[250:]])
    assert [row for row in found if row[0] != "="] == [("+", None, 250)]


def test_parallel_lanes_are_paired_by_what_they_do_not_by_who_came_first() -> None:
    left = [tool("root", "r"), tool("a", "1", lane="0.0"), tool("b", "2", lane="0.1")]
    right = [tool("root", "r"), tool("b", "2", lane="0.0"), tool("a", "1", lane="0.1")]
    assert rows(left, right) == [("=", 0, 0), ("=", 1, 2), ("=", 2, 1)]


def test_a_lane_of_its_own_stands_alone() -> None:
    left = [tool("root", "r"), tool("a", "1", lane="0.0")]
    assert rows(left, left[:1]) == [("=", 0, 0), ("-", 1, None)]
    assert rows(left[:1], left) == [("=", 0, 0), ("+", None, 1)]


def test_the_incident_and_its_twin_stand_side_by_side() -> None:
    store = DirectoryStore(demo_runs_dir())
    a, b = store.open("refund-incident"), store.open("refund-before-policy-change")
    found = pair_runs(a, b)
    names = [(a.steps()[p.i].name if p.i is not None else None) for p in found.pairs]
    assert "execute_refund" in names
    alone = [p for p in found.pairs if p.sign in "+-"]
    assert {(a.steps()[p.i] if p.i is not None else b.steps()[p.j or 0]).kind for p in alone} <= {
        "tool",
        "approval",
        "checkpoint",
    }
    mapping = found.pairs[found.place_of_a[7]]
    assert mapping.aspects == ("arguments", "result")
    assert found.differing[0] == 0
    assert found.notes == ()


def test_what_cannot_be_compared_is_said() -> None:
    bare, empty = run_of(plain_steps(3)), run_of([], run_id="empty")
    running = run_of(plain_steps(2), run_id="live", status=RunStatus.RUNNING)
    assert pair_runs(bare, empty).notes == (
        "run run-1 has no hashes: steps are paired by kind and name, what they hold is unknown",
        "run empty has no steps",
    )
    assert "run live is still running: compared as far as it has come" in pair_runs(bare, running).notes
    assert pair_runs(empty, empty).pairs == ()


def test_work_ends_when_the_answer_is_no_longer_wanted() -> None:
    left = [tool("t", str(n % 3)) for n in range(300)]
    with pytest.raises(Stopped):
        pair_outlines(left, left[::-1], should_stop=lambda: True)


def test_places_of_pairs_can_be_looked_up() -> None:
    found = PairedRuns(pair_outlines([tool("a", "1"), tool("b", "2")], [tool("b", "2")])[0])
    assert (found.place_of_a, found.place_of_b, found.differing) == ({0: 0, 1: 1}, {0: 1}, (0,))


def effect(name: str, *, lane: str = "0") -> StepOutline:
    return StepOutline("effect", name, lane, "ok")


def test_effects_that_no_seam_saw_are_paired_apart_from_the_steps() -> None:
    left = [tool("a", "x"), effect("open one"), effect("open two"), tool("b", "y")]
    right = [effect("open two", lane="0.4"), tool("a", "x"), tool("b", "y"), effect("open three")]
    assert rows(left, right) == [("=", 0, 1), ("-", 1, None), ("=", 2, 0), ("=", 3, 2), ("+", None, 3)]


def test_an_effect_in_one_run_alone_is_no_difference_of_the_runs() -> None:
    step = plain_steps(1)[0]
    beside = replace(step, id="w:9", kind=Kind.EFFECT, name="open a", attrs={"event": "open", "detail": "a"})
    paired = pair_runs(run_of([step]), run_of([step, beside]))
    assert paired.differing == () and [paired.pairs[place].sign for place in paired.effects] == ["+"]
    assert part(run_of([step]), run_of([step, beside])).same
    assert compare(run_of([step, beside]), run_of([step])).identical
