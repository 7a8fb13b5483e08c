"""What each type of setting takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.config.table import Setting, Type
from agentdbg.config.values import BadValue, read_value


def setting(kind: Type, *choices: str) -> Setting:
    return Setting("key", None, None, kind, "help", choices)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("text", "a b", "a b"),
        ("flag", True, True),
        ("flag", "On", True),
        ("flag", "0", False),
        ("count", 7, 7),
        ("count", " 1_000 ", 1000),
        ("seconds", 3, 3.0),
        ("seconds", "1.5", 1.5),
        ("list", "a, b,", ("a", "b")),
        ("list", ["a", "b"], ("a", "b")),
        ("table", {"a": ["x", "y"]}, {"a": "x,y"}),
        ("table", " a = x ,b=y=z,", {"a": "x", "b": "y=z"}),
        ("table", '{"a,b": "x"}', {"a,b": "x"}),
    ],
)
def test_a_value_is_read(kind: Type, raw: object, value: object) -> None:
    assert read_value(setting(kind), raw) == value


@pytest.mark.parametrize(
    ("kind", "raw", "said"),
    [
        ("text", 1, "use a text"),
        ("flag", "maybe", "use on or off"),
        ("flag", 1, "use on or off"),
        ("count", -1, "use a whole number"),
        ("count", True, "use a whole number"),
        ("count", "9" * 5000, "use a whole number"),
        ("seconds", 0, "use a number of seconds"),
        ("seconds", "nan", "use a number of seconds"),
        ("seconds", "soon", "use a number of seconds"),
        ("list", 1, "use a list"),
        ("list", [1], "use a list"),
        ("table", 5, "use a table"),
        ("table", "x", "use NAME=VALUE"),
        ("table", "=x", "use NAME=VALUE"),
        ("table", '{"a"', "use NAME=VALUE"),
        ("table", {"a": 1}, "a: use a text"),
    ],
)
def test_a_wrong_value_is_told(kind: Type, raw: object, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        read_value(setting(kind), raw)


def test_choices_hold_for_words_and_for_tables() -> None:
    assert read_value(setting("choice", "a", "b"), "a") == "a"
    with pytest.raises(BadValue, match="use one of a, b"):
        read_value(setting("choice", "a", "b"), "c")
    with pytest.raises(BadValue, match="t: use one of a, b"):
        read_value(setting("table", "a", "b"), {"t": "c"})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.sampled_from(["text", "flag", "count", "seconds", "choice", "list", "table"]), anything)
def test_nothing_but_bad_value_is_ever_raised(kind: Type, raw: object) -> None:
    try:
        read_value(setting(kind), raw)
    except BadValue as error:
        assert str(error)
