"""A recorded value in the hands of an editor: what is changed there becomes as few edits as possible."""

from __future__ import annotations

import json
from pathlib import Path as File

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.debugging.value_edits import CannotEdit, NoChange, NoJson, Value, value_of
from agentdbg.model.json_path import Path, parse_path, replaced
from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import Json
from agentdbg.replay.edits import parse_edit
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import DESK

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))


def value(tree: object) -> Value:
    return Value(4, "result", json.dumps(tree).encode())


def set_at(tree: Json, path: Path, new: Json) -> Json:
    """Set one place."""
    return new if not path else replaced(tree, path, new)


@given(TREES, TREES)
def test_the_edits_lead_from_the_one_to_the_other(before: object, after: object) -> None:
    found: Json = before  # type: ignore[assignment]
    try:
        edits = value(before).edits(json.dumps(after))
    except NoChange:
        assert json_bytes(before) == json_bytes(after)  # type: ignore[arg-type]
        return
    for text in edits:
        edit = parse_edit(text)
        assert edit.step == 4
        found = set_at(found, parse_path(edit.path)[1:], edit.value)
    assert found == after


def test_only_the_place_that_changed_is_edited() -> None:
    before = {"order": "A-1", "lines": [{"amount": 240.0}, {"amount": 1}]}
    after = {"order": "A-1", "lines": [{"amount": 10}, {"amount": 1}]}
    assert value(before).edits(json.dumps(after)) == ["4:result.lines[0].amount=10"]
    long = "x" * 1_000
    assert value({"a.b": ["", 1]}).edits(json.dumps({"a.b": [long, 1]})) == [f'4:result["a.b"][0]="{long}"']
    assert value(list(range(20))).edits(json.dumps(list(range(20))[::-1]))[0].startswith("4:result=[")


def test_what_is_no_json_is_not_taken() -> None:
    with pytest.raises(NoJson, match="line 1 column 2"):
        value({}).edits("{")


def test_which_value_a_step_has(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
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
