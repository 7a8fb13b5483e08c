"""Reading JSON that others wrote, without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.json_text import dumps_json, json_bytes, loads_json
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
