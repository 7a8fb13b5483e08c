"""Reading JSON that others wrote, without loss."""

from __future__ import annotations

from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.json_text import PLAIN, WITH_FLOATS, dumps_json, json_bytes, loads_json, plainness, text_of
from agentdbg.model.records import Json


def test_numbers_of_a_foreign_document_are_read_without_loss() -> None:
    text = b'{"big": 18446744073709551616, "id": 1234567890123456789012, "f": 1.5, "nan": NaN, "s": "\\ud99c"}'
    read = loads_json(text)
    assert isinstance(read, dict)
    assert (read["big"], read["id"], read["s"]) == (2**64, 1234567890123456789012, "\ud99c")
    assert dumps_json({"a": [1, "ü"]}) == '{"a":[1,"ü"]}'


@pytest.mark.parametrize("text", [b"", b"{", b"nope", b"[" * 100_000])
def test_what_is_no_json_says_so(text: bytes) -> None:
    with pytest.raises(ValueError):
        loads_json(text)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(TREES)
def test_the_bytes_are_those_of_the_text(tree: Json) -> None:
    assert json_bytes(tree) == dumps_json(tree).encode("utf-8", "surrogatepass")


@given(
    st.floats(1e-4, 1e16, exclude_max=True) | st.floats(-1e16, -1e-4, exclude_min=True) | st.sampled_from([0.0, -0.0])
)
def test_both_writers_spell_usual_floats_alike(number: float) -> None:
    assert plainness([number], 0) == PLAIN
    assert text_of([number], sort=False, floats=False) == text_of([number], sort=False, floats=True)


@pytest.mark.parametrize("number", [1e16, -1e16, 9.999e-5, 5e-324, 1.7e308])
def test_other_floats_are_written_by_the_standard_library(number: float) -> None:
    assert plainness({"a": [number]}, 0) == WITH_FLOATS
    assert loads_json(json_bytes(number)) == number


class Letter(IntEnum):
    A = 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**64, (1,), {1: 2}, {"$": 1}, [b""], Letter.A])
def test_what_is_not_plain_json(value: object) -> None:
    assert plainness(value, 0) == plainness({"a": [value]}, 0) == 0
