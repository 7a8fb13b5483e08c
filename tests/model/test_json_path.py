"""Edits of a JSON value, as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.json_path import BadPath, parse_path, replaced, split_edit, words
from agentdbg.model.records import Json


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("temperature=0", ("temperature",), 0),
        ('messages[0].content="a=b"', ("messages", 0, "content"), "a=b"),
        ("$.a.b[-1]=null", ("a", "b", -1), None),
        ('["a.b"].c={"d": [1]}', ("a.b", "c"), {"d": [1]}),
        ("max-tokens=5", ("max-tokens",), 5),
    ],
)
def test_an_edit_is_a_path_and_a_value(text: str, path: tuple[str | int, ...], value: object) -> None:
    assert split_edit(text) == (path, value)


@pytest.mark.parametrize("text", ["", "=1", "a", "a[x]=1", "a..b=1", "a=", "a=hello", "a[0=1", "a b"])
def test_what_is_no_edit_is_said(text: str) -> None:
    with pytest.raises(BadPath):
        split_edit(text)


def test_a_text_without_quotes_is_told_about_them() -> None:
    with pytest.raises(BadPath, match="quotes"):
        split_edit("a=hello")


def test_only_the_place_is_replaced_and_the_value_stays_as_it_was() -> None:
    before: Json = {"a": [{"b": 1}, {"b": 2}], "c": 3}
    assert replaced(before, ("a", -1, "b"), 9) == {"a": [{"b": 1}, {"b": 9}], "c": 3}
    assert replaced(before, ("new",), 1) == {"a": [{"b": 1}, {"b": 2}], "c": 3, "new": 1}
    assert replaced(before, ("a", 2), 7) == {"a": [{"b": 1}, {"b": 2}, 7], "c": 3}
    assert before == {"a": [{"b": 1}, {"b": 2}], "c": 3}


@pytest.mark.parametrize("path", [("a", 3), ("a", -3), ("x", "y"), ("c", "d"), ("a", "b"), ("c", 0), (0,)])
def test_a_path_that_leads_nowhere_is_said(path: tuple[str | int, ...]) -> None:
    with pytest.raises(BadPath):
        replaced({"a": [1, 2], "c": 3}, path, 0)


@given(st.lists(st.text(min_size=1) | st.integers(), min_size=1, max_size=5))
def test_a_path_in_words_is_read_back(path: list[str | int]) -> None:
    assert parse_path(words(path)) == tuple(path)
