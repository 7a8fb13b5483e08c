"""A step is built from any JSON objects, and says what it could not use."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.records import ErrorInfo, Kind, StepStatus
from agentdbg.store.steps import body_ref, build_step, error_info
from tests.support.records import intent, outcome, ref

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
NAMES = [
    *("e", "kind", "name", "parent", "lane", "fork", "effect", "fp", "afp", "key", "args", "input"),
    *("attrs", "holes", "status", "of", "ms", "result", "error", "usage", "wall", "novel"),
]
records = st.lists(st.dictionaries(st.sampled_from(NAMES), values), min_size=1, max_size=3)


def built(*found: dict[str, Any]) -> Any:
    return build_step(found, n=1, step_id="w:1", depth=0, lane="0", parent=None)


@given(records)
def test_any_records_give_a_step(found: list[dict[str, Any]]) -> None:
    step = built(*found)
    assert isinstance(step.kind, Kind)
    assert isinstance(step.status, StepStatus)
    assert isinstance(step.name, str)
    assert all(isinstance(hole, str) for hole in step.holes)


def test_an_unknown_kind_effect_or_status_is_named() -> None:
    step = built(intent(1, "teleport", effect="cosmic"), outcome(2, 1, "vanished"))
    assert step.holes == ("unknown kind of step: teleport", "unknown effect: cosmic", "unknown status: vanished")
    assert step.status is StepStatus.ERROR


def test_a_recorded_parent_that_is_not_there_is_kept() -> None:
    assert built(intent(1, parent="gone:9")).parent == "gone:9"


def test_a_reference_needs_a_digest() -> None:
    good = ref(b"x", offset=3)
    found = body_ref(good)
    assert found is not None and (found.size, found.offset) == (1, 3)
    odd = body_ref({**good, "size": -1, "offset": True, "file": 7})
    assert odd is not None and (odd.size, odd.offset, odd.file) == (0, -1, "")
    huge = body_ref({**good, "size": 10**30, "offset": 10**30})
    assert huge is not None and (huge.size, huge.offset) == (0, -1)
    for bad in (
        None,
        "x",
        {**good, "sha256": "../x"},
        {**good, "sha256": good["sha256"].upper()},
        {**good, "sha256": good["sha256"] + "\n"},
    ):
        assert body_ref(bad) is None


def test_an_error_may_be_a_plain_text() -> None:
    assert error_info("went wrong") == ErrorInfo("", "went wrong")
    assert error_info("") is error_info(None) is error_info([1]) is None


def test_how_often_an_effect_was_seen_is_known_at_the_end() -> None:
    note = {**intent(1, "effect"), "e": "step", "attrs": {"event": "open", "count": 1}}
    assert built(note).attrs["count"] == 1
    assert built(note, {"e": "count", "of": "w:1", "count": 7}).attrs["count"] == 7


def test_what_came_before_an_event_in_other_threads_and_turns_is_no_fact_of_its_step() -> None:
    asked: dict[str, Any] = {"turn": [1, 7], "handoffs": [["0.1", "put"]], "novel": "kept"}
    step = built(intent(1, "node", **asked), {**outcome(2, 1), **asked, "handoffs": [["0.2", "get"]]})
    assert step.attrs == {"novel": "kept"}
