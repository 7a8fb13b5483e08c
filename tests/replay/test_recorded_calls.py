"""Recorded calls found for what the program calls now."""

from __future__ import annotations

from agentdbg.model.records import Kind
from agentdbg.recording.calls import Call
from agentdbg.replay.policy import Match
from agentdbg.replay.recorded_calls import RecordedCalls
from tests.support.regression_lab import made, recorded


def test_the_same_call_comes_before_a_renamed_one_and_that_before_the_place() -> None:
    calls = RecordedCalls(
        [recorded("a", "t", mark="1"), recorded("b", "t", mark="2"), recorded("c", "t", mark="3")],
        {"a": {"alpha": "x"}, "b": {"alpha": "y"}},
    )
    call = made("t", mark="3", alpha="y")
    calls.count(call)
    assert _found(calls, call) == ("c", Match.SAME)
    call = made("t", mark="9", alpha="y")
    calls.count(call)
    assert _found(calls, call) == ("b", Match.RENAMED)
    call = made("t", mark="9", alpha="z")
    calls.count(call)
    assert _found(calls, call) == ("a", Match.PLACE)
    assert _found(calls, call) == (None, Match.NONE)


def test_a_place_is_lane_kind_name_and_occurrence() -> None:
    calls = RecordedCalls([recorded("a", "t"), recorded("b", "t"), recorded("c", "t", lane="0.1")], {})
    first, second, other = made("t"), made("t"), made("t", lane="0.1")
    for call in (first, second, other):
        calls.count(call)
    assert calls.find(made("u"), by_place=True) == (None, Match.NONE)
    assert _found(calls, other) == ("c", Match.PLACE)
    assert _found(calls, second) == ("b", Match.PLACE)
    assert _found(calls, second) == ("a", Match.PLACE)


def test_of_several_the_own_lane_is_taken() -> None:
    calls = RecordedCalls([recorded("a", "t", mark="1", lane="0.1"), recorded("b", "t", mark="1", lane="0.2")], {})
    assert _found(calls, made("t", mark="1", lane="0.2")) == ("b", Match.SAME)
    assert calls.left_in("0.1", {"a", "b"}) is not None
    assert calls.left_in("0.2", {"a", "b"}) is None
    assert calls.left() == 1
    assert calls.left({"b"}) == 0


def test_it_can_be_looked_among_some_alone() -> None:
    calls = RecordedCalls([recorded("a", "t", mark="1"), recorded("b", "t", mark="2")], {})
    assert calls.find(made("t", mark="1"), {"b"}, by_place=False) == (None, Match.NONE)
    assert calls.find(made("t", mark="1"), without={"a"}, by_place=False) == (None, Match.NONE)


def test_keys_are_known_by_tool() -> None:
    calls = RecordedCalls([recorded("a", "pay")], {"a": {"key": "k"}})
    assert calls.has_key("pay", "k")
    assert not calls.has_key("pay", "l")
    assert not calls.has_key("other", "k")


def _found(calls: RecordedCalls, call: Call) -> tuple[str | None, Match]:
    found, match = calls.find(call, by_place=True)
    if found is not None:
        calls.take(call, found)
    return (None if found is None else found.step), match


def test_kinds_are_told_apart() -> None:
    calls = RecordedCalls([recorded("a", "x", kind=Kind.MODEL)], {})
    tool = made("x")
    calls.count(tool)
    assert calls.at_place(tool) is None
    model = made("x", kind=Kind.MODEL)
    calls.count(model)
    there = calls.at_place(model)
    assert there is not None and there.step == "a"
