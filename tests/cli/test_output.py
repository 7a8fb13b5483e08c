"""Whatever was recorded, what is printed is valid JSON or harmless text."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.cli import output
from agentdbg.model.records import Kind

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def printed(members: dict[str, object]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        stream = io.StringIO()
        patch.setattr(sys, "stdout", stream)
        output.print_document("x", members)
        return stream.getvalue()


@given(values)
def test_a_document_reads_back_as_it_was(value: object) -> None:
    assert json.loads(printed({"value": value})) == {"schema": "agentdbg.x/1", "value": value}


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x2100)))
def test_no_character_that_a_terminal_obeys_is_in_a_document(text: str) -> None:
    shown = printed({"value": text})
    assert not [c for c in shown if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or 0x202A <= ord(c) <= 0x202E]
    shown.encode()


def test_lists_are_printed_as_they_come() -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)

    assert printed({"list": numbers(), "none": iter(())}) == (
        '{"schema": "agentdbg.x/1",\n"list": [\n 1,\n 2],\n"none": []}\n'
    )


def test_enumerations_and_numbers_that_json_lacks() -> None:
    found = json.loads(printed({"kind": Kind.TOOL, "odd": float("nan"), "tuple": (1,)}))
    assert found["kind"] == "tool"
    assert found["odd"] == "nan"
    assert found["tuple"] == [1]


def test_a_time_that_no_calendar_has_is_absent() -> None:
    assert output.local_time(1e300) == output.local_time(None) == "–"
    assert output.local_time(1_770_000_000).startswith("2026-02-0")
