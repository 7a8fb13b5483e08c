"""Lanes of two runs are put side by side by rank, else by who answered, by content, by how they begin."""

from __future__ import annotations

from collections.abc import Sequence

from agentdbg.compare.lane_pairs import met_steps, pair_lanes, tree
from agentdbg.compare.trajectory import step_key
from agentdbg.model.records import BodyRef, Kind, Step


def step(lane: str, name: str, args: str = "0", *, served: str | None = None, number: int = 0) -> Step:
    attrs = {"served_from": served} if served else {}
    return Step(number, f"w:{lane}:{name}", Kind.TOOL, name, lane=lane, arguments=BodyRef(args * 64, 1), attrs=attrs)


def pairs(left: Sequence[Step], right: Sequence[Step]) -> set[tuple[str, str]]:
    found = pair_lanes(tree(left), tree(right), step_key, step_key)
    return {(a.name if a else "-", b.name if b else "-") for a, b in found}


def test_equal_trees_are_paired_by_rank() -> None:
    steps = [step("0", "a"), step("0.0", "b"), step("0.1", "b"), step("0.1.0", "c")]
    assert pairs(steps, steps) == {("0", "0"), ("0.0", "0.0"), ("0.1", "0.1"), ("0.1.0", "0.1.0")}


def test_another_order_is_paired_by_content() -> None:
    left = [step("0.0", "b", "1"), step("0.1", "b", "2"), step("0.2", "b", "3")]
    right = [step("0.0", "b", "3"), step("0.1", "b", "1"), step("0.2", "b", "2")]
    assert pairs(left, right) == {("0", "0"), ("0.0", "0.1"), ("0.1", "0.2"), ("0.2", "0.0")}


def test_the_answer_says_where_a_lane_comes_from() -> None:
    left = [step("0.0", "b"), step("0.1", "b")]
    right = [step("0.0", "b", served="w:0.1:b"), step("0.1", "b", served="w:0.0:b")]
    right += [step("0.0", "more")]
    assert pairs(left, right) == {("0", "0"), ("0.0", "0.1"), ("0.1", "0.0")}


def test_a_lane_that_never_started_does_not_shift_the_others() -> None:
    left = [step("0.0", "a"), step("0.1", "b"), step("0.2", "c")]
    right = [step("0.0", "b"), step("0.1", "c", "9")]
    assert pairs(left, right) == {("0", "0"), ("0.0", "-"), ("0.1", "0.0"), ("0.2", "0.1")}


def test_a_lane_too_many_stands_alone() -> None:
    assert pairs([step("0.0", "a")], [step("0.0", "a"), step("0.1", "z")]) == {("0", "0"), ("0.0", "0.0"), ("-", "0.1")}


def test_a_deep_lane_without_its_parent_hangs_below_the_nearest() -> None:
    root = tree([step("0", "a"), step("0.1.2.3", "b"), step("0.1.2.3.0", "c")])
    assert [child.name for child in root.children] == ["0.1.2.3"]
    assert [child.name for child in root.children[0].children] == ["0.1.2.3.0"]


def test_what_is_inside_a_served_call_is_not_met() -> None:
    outer = Step(1, "t", Kind.TOOL, "outer")
    inner = Step(2, "m", Kind.MODEL, "inner", parent="t")
    deeper = Step(3, "d", Kind.CHECKPOINT, "deeper", parent="m")
    after = Step(4, "c", Kind.CHECKPOINT, "after")
    assert [step.id for step in met_steps([outer, inner, deeper, after])] == ["t", "c"]
