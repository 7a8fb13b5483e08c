"""The first difference of two values, as a path that a person can follow."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.compare.first_difference import ABSENT, Difference, first_difference


def test_paths() -> None:
    cases: list[tuple[Any, Any, str, str, str]] = [
        (1, 2, "$", "1", "2"),
        (1, 1.0, "$", "1", "1.0"),
        (1, True, "$", "1", "true"),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "$.a[1].b", "2", "3"),
        ({"a b": 1}, {"a b": 2}, "$['a b']", "1", "2"),
        ({"a": 1}, {}, "$.a", "1", ABSENT),
        ({}, {"a": None}, "$.a", ABSENT, "null"),
        ([1], [1, 2], "$[1]", ABSENT, "2"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "$", "member 'a' first", "member 'b' first"),
        ({"t": {"$": "tuple", "v": [1, 2]}}, {"t": {"$": "tuple", "v": [1, 3]}}, "$.t[1]", "2", "3"),
        ({"$": "set", "v": [1]}, {"$": "tuple", "v": [1]}, "$", '{"$":"set","v":[1]}', '{"$":"tuple","v":[1]}'),
        ("same words here", "same words there", "$", "same words here", "same words there"),
    ]
    for left, right, path, expected, got in cases:
        assert first_difference(left, right) == Difference(path, expected, got)


def test_long_texts_are_cut_around_the_difference() -> None:
    found = first_difference("x" * 1000 + "A" + "y" * 1000, "x" * 1000 + "B" + "y" * 1000)
    assert found is not None
    assert len(found.expected) < 300
    assert "A" in found.expected
    assert "B" in found.got


def test_a_minus_before_zero_is_a_difference() -> None:
    assert first_difference({"v": 0.0}, {"v": -0.0}) == Difference("$.v", "0.0", "-0.0")


def test_nan_is_the_same_as_itself() -> None:
    assert first_difference([math.nan], [math.nan]) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, width=16) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "$", "v"]), inner, max_size=3)
    ),
)


@given(VALUES, VALUES)
def test_a_difference_is_found_exactly_when_the_texts_differ(left: Any, right: Any) -> None:
    assert (first_difference(left, right) is None) == (json.dumps(left) == json.dumps(right))


def test_the_class_of_an_object_is_no_part_of_a_path() -> None:
    def state(budget: int, name: str = "desk.State") -> Any:
        return {"state": {"$": "object", "v": [name, {"budget": budget}]}}

    found = first_difference(state(95), state(94))
    assert found is not None and (found.path, found.expected, found.got) == ("$.state.budget", "95", "94")
    other = first_difference(state(95), state(95, "desk.Other"))
    assert other is not None and (other.expected, other.got) == ("desk.State", "desk.Other")
