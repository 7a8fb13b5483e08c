"""One field of the state, back in time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.debugging.jsontext import pretty
from agentdbg.debugging.session import Session
from agentdbg.debugging.statefields import hunt_change, parse_path, path_of_line, path_words
from agentdbg.model.records import Kind, Step
from tests.support.memory_source import run_of

VALUE = {"status": "x" * 70, "plan": [{"id": "a" * 70, "n": 1}, {"id": "b" * 70, "n": 2}], "a b": {"deep": "c" * 70}}


def states(*values: object) -> Session:
    source = run_of(())
    for number, value in enumerate(values):
        source.add(Step(0, f"w:{2 * number}", Kind.CHECKPOINT, "saved", arguments=source.put(value)))
        source.add(Step(0, f"w:{2 * number + 1}", Kind.TOOL, "work"))
    session = Session(source)
    session.last()
    return session


def change(session: Session, *path: str | int) -> int:
    hunt_change(session, path)
    session.settle()
    return session.cursor


def test_it_goes_to_the_last_change_and_then_further_back() -> None:
    session = states({"s": 1, "t": 0}, {"s": 2, "t": 0}, {"s": 2, "t": 1}, {"s": 2, "t": 2})
    assert change(session, "s") == 2
    assert session.message == "s changed here: 1 → 2"
    assert change(session, "s") == 2
    assert "no earlier change of s" in session.message
    session.last()
    assert change(session, "t") == 6
    assert change(session, "t") == 4


def test_a_field_that_comes_and_goes_has_changed() -> None:
    session = states({}, {"s": 1}, {})
    assert change(session, "s") == 4
    assert "1 → (absent)" in session.message
    assert change(session, "s") == 2


def test_without_a_checkpoint_it_says_so() -> None:
    session = Session(run_of([Step(0, "w:0", Kind.TOOL, "work")]))
    assert change(session, "s") == 0
    assert "no checkpoint" in session.message


def test_each_line_of_a_document_knows_its_path() -> None:
    lines = pretty(json.dumps(VALUE))
    found = {path_of_line(lines, at) for at in range(len(lines))}
    assert ("status",) in found
    assert ("plan", 1, "id") in found
    assert ("a b", "deep") in found
    assert path_of_line(lines, 0) is None
    assert path_of_line(lines, 99) is None


@pytest.mark.parametrize(
    ("text", "path"),
    [("$.a[3].b", ("a", 3, "b")), ("$['a b'][0]", ("a b", 0)), ("$.a→$.b", ("a",)), ("$", None), ("x", None)],
)
def test_paths_of_changes_are_read(text: str, path: object) -> None:
    assert parse_path(text) == path
    assert parse_path("$." + path_words(("a", 1))) == ("a", 1)


JSON = st.recursive(
    st.integers() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_path_leads_to_something_in_the_document(value: object) -> None:
    lines = pretty(json.dumps(value))
    for at in range(len(lines)):
        found: object = value
        for part in path_of_line(lines, at) or ():
            found = found[part]  # type: ignore[index]  # the path says what is there
