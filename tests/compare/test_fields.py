from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.compare.alignment import Stopped
from agentdbg.compare.fields import (
    BYTES,
    CAPPED,
    MISSING,
    NORMALISATION,
    ORDER,
    OUT_OF_TIME,
    TEXT,
    FieldChange,
    FieldDiff,
    diff_bodies,
    diff_values,
)
from agentdbg.model.canonical import Opaque, dumps

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(width=16) | st.text("ab_é$", max_size=3)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("ab_$v", max_size=2), inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers(0, 3), inner, max_size=3)
        | st.frozensets(st.integers(0, 3) | st.text("ab", max_size=1), max_size=3)
    ),
    max_leaves=12,
)


def of(a: object, b: object, **how: Any) -> FieldDiff:
    return diff_bodies(dumps(a), dumps(b), **how)


def rows(found: FieldDiff) -> list[tuple[str, str]]:
    return [(change.sign, change.path) for change in found.changes]


@given(values, values)
def test_the_answer_is_empty_exactly_when_the_bytes_are_equal(a, b) -> None:
    assert (not of(a, b).changes) == (dumps(a) == dumps(b))
    assert of(a, copy.deepcopy(a)).changes == ()


@given(values, values)
def test_every_change_can_be_shown(a, b) -> None:
    for change in of(a, b).changes:
        assert change.before_text() and change.after_text()
        assert (change.before is MISSING) == (change.sign == "+")
        assert (change.after is MISSING) == (change.sign == "-")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([2], [2.0]),
        ([True], [1]),
        ({"a": 0.0}, {"a": -0.0}),
        ({"a": math.nan}, {"a": None}),
        ({"__ref": 1}, {"__ref": 2}),
        ({"__class__": "x"}, {}),
        ([1, 2], (1, 2)),
        ({1: "x"}, {"1": "x"}),
        (b"x", "x"),
        (2**70, 2**70 + 1),
        ("\ud99c", "\ufffd"),
        ({"$": "v"}, {"$": "w"}),
        ({"a": {1: {"b": [1]}}}, {"a": {1: {"b": [1.0]}}}),
    ],
)
def test_differences_that_python_or_a_library_passes_over_are_seen(a: object, b: object) -> None:
    found = of(a, b).changes
    assert len(found) == 1
    assert found[0].before_text() != found[0].after_text()


def test_a_nan_is_equal_to_itself() -> None:
    assert of({"a": math.nan, "b": 1}, {"a": math.nan, "b": 2}).changes == (FieldChange("~", "$.b", 1, 2),)


def test_another_order_of_members_is_a_change() -> None:
    (found,) = of({"a": 1, "b": 2}, {"b": 2, "a": 1}).changes
    assert (found.sign, found.path, found.note) == ("~", "$", ORDER)
    assert (found.before_text(), found.after_text()) == ('["a","b"]', '["b","a"]')


def test_texts_that_look_alike_are_shown_in_escapes() -> None:
    (found,) = of({"name": "é"}, {"name": "e\u0301"}).changes
    assert found.note == NORMALISATION
    assert (found.before_text(), found.after_text()) == ('"\\xe9"', '"e\\u0301"')


def test_equal_values_in_other_bytes_are_a_change() -> None:
    (found,) = diff_bodies(b'{"a": 1}', b'{"a":1}').changes
    assert (found.path, found.note, found.before_text(), found.after_text()) == ("$", BYTES, '{"a": 1}', '{"a":1}')


def test_bodies_that_are_no_json_are_compared_as_text() -> None:
    (found,) = diff_bodies(b"plain \xff", b"plain \xfe").changes
    assert (found.note, found.before_text(), found.after_text()) == (TEXT, "plain \\xff", "plain \\xfe")


def test_paths_are_readable_and_typed_values_are_no_part_of_them() -> None:
    a = {"order": ({"items": [1, 2], "ship to": "x"},), "by": {7: {"n": 1}}}
    b = {"order": ({"items": [1, 3], "ship to": "y"},), "by": {7: {"n": 2}}}
    assert rows(of(a, b)) == [("~", "$.order[0].items[1]"), ("~", "$.order[0]['ship to']"), ("~", "$.by[7].n")]


def test_a_text_that_is_json_is_looked_into() -> None:
    a = {"content": '{"limit": 500, "requires_manual_approval": true}'}
    b = {"content": '{"limit": 500}'}
    assert rows(of(a, b)) == [("-", "$.content→$.requires_manual_approval")]
    assert rows(of({"c": '{"a": 1}'}, {"c": '{"a":1}'})) == [("~", "$.c")]
    assert rows(of({"c": "[1, 2"}, {"c": "[1, 3"})) == [("~", "$.c")]


def test_one_element_put_before_six_thousand_is_one_change() -> None:
    items = [{"id": n, "text": f"message {n}"} for n in range(6000)]
    assert rows(of(items, [{"id": -1}, *items])) == [("+", "$[0]")]
    assert rows(of({"m": [*items, 1]}, {"m": items})) == [("-", "$.m[6000]")]


def test_an_element_that_changed_beside_an_insertion_is_opened() -> None:
    a = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
    b = [a[0], {"role": "tool", "content": "x"}, {"role": "user", "content": "hello!"}]
    found = of(a, b).changes
    assert [(change.sign, change.path, change.path_after) for change in found] == [
        ("+", "$[1]", ""),
        ("~", "$[1].content", "$[2].content"),
    ]


def test_elements_keep_their_names_when_their_number_changes() -> None:
    a = [{"id": "a", "n": 1}, {"id": "b", "n": 2}, {"id": "c", "n": 3}]
    b = [{"id": "b", "n": 9}, {"id": "c", "n": 8}]
    assert rows(of(a, b)) == [("-", "$[0]"), ("~", "$[1].n"), ("~", "$[2].n")]


def test_a_long_text_is_cut_around_its_first_difference() -> None:
    (found,) = of({"t": "x" * 5000 + "old" + "y" * 5000}, {"t": "x" * 5000 + "new" + "y" * 5000}).changes
    assert "old" in found.before_text() and "new" in found.after_text()
    assert len(found.before_text()) < 220


def test_the_list_of_changes_is_capped_and_says_so() -> None:
    found = of(list(range(5000)), list(range(5000, 10_000)), limit=100)
    assert (len(found.changes), found.note) == (100, CAPPED.replace("2,000", "2,000"))


def test_out_of_time_whole_values_are_shown_and_said_to_be() -> None:
    found = of({"a": {"b": [1]}}, {"a": {"b": [2]}}, seconds=-1)
    assert (rows(found), found.note) == ([("~", "$")], OUT_OF_TIME)


def test_work_ends_when_the_answer_is_no_longer_wanted() -> None:
    with pytest.raises(Stopped):
        of([1], [2], should_stop=lambda: True)


def test_deeply_nested_values_are_compared() -> None:
    a: object = 1
    b: object = 2
    for _ in range(3000):
        a, b = [a], [b]
    assert of(a, b).changes
    raw = b"[" * 900 + b"%d" + b"]" * 900
    assert len(diff_bodies(raw % 1, raw % 2).changes) == 1


def test_added_null_is_not_a_missing_field() -> None:
    assert diff_values({}, json.loads('{"a":null}')).changes == (FieldChange("+", "$.a", MISSING, None),)


def test_members_of_an_object_are_compared_by_name() -> None:
    def state(**members: object) -> object:
        return {"s": Opaque("desk.State", members)}

    found = of(state(budget=95, who="a"), state(budget=94, who="a"))
    assert [path for _, path in rows(found)] == ["$.s.budget"]
