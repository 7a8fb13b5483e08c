"""A recorded value in the hands of an editor: what is changed there becomes as few edits as possible."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.debugging.value_edits import CannotEdit, NoChange, Value, value_of
from agentdbg.model.json_text import json_bytes
from agentdbg.replay.edits import parse_edit
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import DESK

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))


def value(tree: object) -> Value:
    return Value(4, "result", json.dumps(tree).encode())


def set_at(tree: object, path: str, new: object) -> object:
    """Make an edit as the engine does."""
    from agentdbg.replay.edits import Edit, _changed, _parts

    return json.loads(_changed(Edit(4, path, new), json.dumps(tree).encode(), _parts(path)[1:], new))  # type: ignore[arg-type]


@given(TREES, TREES)
def test_the_edits_lead_from_the_one_to_the_other(before: object, after: object) -> None:
    found = before
    try:
        edits = value(before).edits(json.dumps(after))
    except NoChange:
        assert json_bytes(before) == json_bytes(after)  # type: ignore[arg-type]
        return
    for text in edits:
        edit = parse_edit(text)
        assert edit.step == 4
        found = set_at(found, edit.path, edit.value)
    assert found == after


def test_only_the_place_that_changed_is_edited() -> None:
    before = {"order": "A-1", "lines": [{"amount": 240.0}, {"amount": 1}]}
    after = {"order": "A-1", "lines": [{"amount": 10}, {"amount": 1}]}
    assert value(before).edits(json.dumps(after)) == ["4:result.lines[0].amount=10"]
    assert value(list(range(20))).edits(json.dumps(list(range(20))[::-1]))[0].startswith("4:result=[")


def test_what_is_no_json_is_not_taken() -> None:
    with pytest.raises(CannotEdit, match="no JSON"):
        value({}).edits("{")


def test_which_value_a_step_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = ReplayLab(tmp_path)
    monkeypatch.setenv("OUTSIDE", str(lab.outside))
    lab.record(DESK)
    source = lab.run()
    source.index(None)
    steps = source.steps()
    assert value_of(source, steps[0]).top == "arguments"
    assert json.loads(value_of(source, steps[1]).text) == {"id": "o-1", "total": 120}
    with pytest.raises(CannotEdit, match="no call"):
        value_of(source, steps[3])
    assert value_of(source, steps[4]).edits('"found"') == ['5:result="found"']
    source.close()
