"""What can be read of a JSON document that is broken."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.importing.json_files import read_document

DOCUMENTS: Any = st.dictionaries(
    st.text(max_size=5), st.lists(st.integers() | st.text(max_size=5), max_size=5) | st.integers(), max_size=4
)


@given(DOCUMENTS)
def test_a_whole_document_is_itself(document: Any) -> None:
    assert read_document(json.dumps(document).encode()).value == document
    assert not read_document(json.dumps(document).encode()).problem


@given(DOCUMENTS, st.integers(min_value=0, max_value=200))
def test_a_cut_document_is_a_beginning_of_itself(document: Any, cut: int) -> None:
    raw = json.dumps(document).encode()
    found = read_document(raw[: min(cut, len(raw) - 1)])
    assert found.problem
    members = found.value if isinstance(found.value, dict) else {}
    for name, value in members.items():
        whole = document[name]
        assert value == (whole[: len(value)] if isinstance(whole, list) and isinstance(value, list) else value)
    assert set(members) <= set(document)


def test_damage_in_the_middle_keeps_what_stands_before() -> None:
    found = read_document(b'{"a": 1, "items": [1, 2, @, 4], "z": 5}')
    assert found.value == {"a": 1, "items": [1, 2]}
    assert "\n" not in found.problem


def test_not_a_number_and_huge_integers_are_read() -> None:
    value = read_document(b'\xef\xbb\xbf{"a": NaN, "b": 123456789012345678901234567890}').value
    assert isinstance(value, dict)
    assert value["b"] == 123456789012345678901234567890


def test_bottomless_nesting_is_one_line() -> None:
    assert read_document(b"[" * 100_000).problem
