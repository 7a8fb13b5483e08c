"""Two bodies as lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentdbg.compare.alignment import Stopped
from agentdbg.debugging.differences import OVER_TIME, diff_block
from agentdbg.debugging.divergences import DiffView
from agentdbg.debugging.document import Halves
from agentdbg.model.records import BodyRef
from tests.support.memory_source import MemorySource, run_of
from tests.support.reading import line_text


def never() -> bool:
    return False


def lines(before: object, after: object, view: DiffView = DiffView.UNIFIED) -> list[str]:
    source = run_of(())
    return [line_text(line) for line in block(source, before, after, view)]


def block(source: MemorySource, before: object, after: object, view: DiffView = DiffView.UNIFIED) -> list[Any]:
    refs = [source.put(side) if side is not None else None for side in (before, after)]
    return list(diff_block(source, refs[0], source, refs[1], view, never).lines)


def test_a_lost_field_is_one_line_with_its_path() -> None:
    assert lines({"a": 1, "approval": "manual"}, {"a": 1}) == ['- $.approval  "manual"  only here']


def test_a_short_change_is_one_line_a_long_one_three() -> None:
    assert lines({"a": 1}, {"a": 2}) == ["~ $.a  1 → 2"]
    assert lines({"a": "x" * 40}, {"a": "y" * 40}) == ["~ $.a", f'  - "{"x" * 40}"', f'  + "{"y" * 40}"']


def test_side_by_side_puts_both_values_in_one_row() -> None:
    shown = block(run_of(()), {"a": 1}, {"a": 2}, DiffView.SIDE)
    assert isinstance(shown[0], Halves)
    assert line_text(shown[0]) == "~ $.a  1 │ $.a  2"


def test_a_long_text_opens_to_its_words_with_little_around_it() -> None:
    text = [f"line {number} of the prompt" for number in range(100)]
    other = [*text]
    other[50] = "line 50 of the other prompt"
    shown = lines({"content": "\n".join(text)}, {"content": "\n".join(other)})
    assert shown[0] == "~ $.content"
    assert any(line.endswith("- line 50 of the prompt") for line in shown)
    assert any(line.endswith("+ line 50 of the other prompt") for line in shown)
    assert "… 47 equal lines" in shown[1]
    assert len(shown) < 15


def test_the_table_marks_words_inside_the_line() -> None:
    before, after = "a long line\nthat says yes here", "a long line\nthat says no here"
    shown = lines({"t": before}, {"t": after}, DiffView.TABLE)
    assert any("[-yes-]{+no+}" in line for line in shown)


def test_what_only_one_side_has_is_shown_whole() -> None:
    assert lines({"a": 1}, None) == ['- {"a": 1}']
    assert lines(None, {"a": 1}) == ['+ {"a": 1}']


def test_equal_bytes_and_missing_bodies_say_so() -> None:
    assert "same bytes" in lines({"a": 1}, {"a": 1})[0]
    source = run_of(())
    gone = BodyRef("0" * 64, 3)
    found = diff_block(source, gone, source, source.put({"a": 1}), DiffView.UNIFIED, never)
    assert "cannot be compared" in line_text(found.lines[0])


def test_over_time_the_signs_have_other_words() -> None:
    source = run_of(())
    found = diff_block(source, source.put({}), source, source.put({"b": 1}), DiffView.UNIFIED, never, OVER_TIME)
    assert line_text(found.lines[0]) == "+ $.b  1  added"


def test_it_can_be_called_off() -> None:
    source = run_of(())
    with pytest.raises(Stopped):
        diff_block(source, source.put({"a": [1]}), source, source.put({"a": [2]}), DiffView.UNIFIED, lambda: True)


@pytest.mark.parametrize("view", list(DiffView))
def test_whatever_differs_never_gives_an_empty_answer(view: DiffView) -> None:
    for before, after in (({"a": 1}, {"a": True}), (b"a\tb\r", b"a b"), (json.dumps([1]).encode(), b"[1 ]")):
        assert lines(before, after, view)
