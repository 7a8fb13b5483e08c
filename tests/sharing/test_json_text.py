"""JSON for people: the same value, and harmless to look at."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.sharing.json_text import pretty
from tests.support.hostile import attacks, hostile_strings

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_the_value_stays_what_it_is(value: Any) -> None:
    assert json.loads(pretty(value)) == value


@pytest.mark.parametrize("text", hostile_strings())
def test_nothing_in_it_reaches_a_terminal(text: str) -> None:
    shown = pretty({text: [text]})
    assert not attacks(shown.replace("\n", ""))
    assert json.loads(shown) == {text: [text]}


def test_what_json_lacks_is_named_and_bottomless_nesting_is_cut() -> None:
    assert json.loads(pretty([float("nan"), float("-inf")])) == ["nan", "-inf"]
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert "…" in pretty(deep)
