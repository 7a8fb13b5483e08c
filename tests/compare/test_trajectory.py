"""A comparison notices every single change, at the step whose own content it is; the order of lanes is none."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.compare.trajectory import Comparison, compare
from agentdbg.model.hashing import chain
from agentdbg.model.records import Effect, ErrorInfo, Kind, RunStatus, RunSummary, Segment, Step, StepStatus
from tests.support.memory_source import MemorySource

USER = {"role": "user", "content": "Refund order o-1?"}
SYSTEM = {"role": "system", "content": "Be brief."}
OTHER_USER = {"role": "user", "content": "Repay order o-1?"}
OTHER_SYSTEM = {"role": "system", "content": "Be brief!"}


@dataclass
class Row:
    """One step as a test writes it down; ``served`` names the row that answered it."""

    kind: str
    name: str
    args: Any = None
    result: Any = None
    lane: str = "0"
    parent: str | None = "root"
    status: str = "ok"
    effect: str | None = None
    error: tuple[str, str] | None = None
    key: str | None = None
    fork: int | None = None
    messages: list[dict[str, Any]] | None = None
    attrs: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    served: str | None = None


def rows() -> list[Row]:
    """A run with a little of everything."""
    return [
        Row("agent", "run", {"order": "o-1"}, {"answer": 1, "list": [1, 2]}, parent=None, id="root"),
        Row("model", "m-1", None, {"content": "yes"}, messages=[SYSTEM, USER]),
        Row("checkpoint", "asked", {"status": "ASKED", "n": 1}, attrs={"can_resume": True, "status": "ASKED"}),
        Row("retrieval", "policy", [{"id": "p1", "sha256": "aa"}], attrs={"documents": 1}),
        Row("tool", "look", {"id": "a"}, {"price": 1}, lane="0.0", effect="read", fork=4),
        Row("tool", "look", {"id": "b"}, {"price": 2}, lane="0.1", effect="read", fork=4),
        Row("tool", "check", {"price": 1}, True, lane="0.0", effect="none"),
        Row("tool", "check", {"price": 2}, False, lane="0.1", effect="none"),
        Row("agent", "helper", {"n": 1}, "helped", id="helper"),
        Row("tool", "deep", {"q": [1, {"x": None}]}, ["r"], parent="helper", effect="read", lane="0"),
        Row("tool", "book", {"amount": 12.5, "to": "Ann"}, "booked", effect="write", key="k-1"),
        Row("tool", "fails", {}, None, effect="read", status="error", error=("KeyError", "'missing'")),
        Row("approval", "may I?", {"question": "may I?"}, "yes", attrs={"who": "Eve"}),
        Row("config", "limits", {"max": 10}),
        Row("read", "ticket", {"state": "open"}),
        Row("checkpoint", "final state", "DONE", attrs={"final": True}),
    ]


def source(given_rows: list[Row], status: RunStatus = RunStatus.OK) -> MemorySource:
    """The rows as a run."""
    made = MemorySource(RunSummary("run", status))
    for number, row in enumerate(given_rows):
        attrs = dict(row.attrs)
        if row.fork is not None:
            attrs["fork"] = row.fork
        if row.served is not None:
            attrs["served_from"] = row.served
        segments, digest = _segments(made, row)
        effect = Effect(row.effect) if row.effect else None
        error = ErrorInfo(*row.error) if row.error else None
        step = Step(
            n=0,
            id=row.id or f"w:{number}",
            kind=Kind(row.kind),
            name=row.name,
            effect=effect,
            status=StepStatus(row.status),
            parent=row.parent,
            depth=0 if row.parent is None else 2 if row.parent == "helper" else 1,
            lane=row.lane,
            input_hash=digest,
            arguments=made.put(row.args) if row.args is not None else None,
            result=made.put(row.result) if row.result is not None else None,
            error=error,
            idempotency_key=row.key,
            attrs=attrs,
        )
        made.add(step, segments)
    return made


def _segments(made: MemorySource, row: Row) -> tuple[list[Segment], str | None]:
    if row.messages is None:
        return [], None
    shape = {
        "model": row.name,
        "temperature": 0,
        "tools": {"$segments": "tools"},
        "messages": {"$segments": "messages"},
    }
    tool = {"type": "function", "function": {"name": "book"}}
    found = [Segment("parameters", "", made.put(shape)), Segment("tool_schema", "book", made.put(tool))]
    for message in row.messages:
        kind = "system" if message["role"] == "system" else "message"
        found.append(Segment(kind, message["role"], made.put(message)))
    digest = ""
    for part in found:
        digest = chain(digest, part.kind, part.ref.sha256)
    return found, digest


def difference(change: Callable[[list[Row]], None], **options: Any) -> Comparison:
    """Compare the run with itself after one change."""
    other = copy.deepcopy(rows())
    change(other)
    return compare(source(rows()), source(other), **options)


def put(index: int, name: str, value: Any) -> Callable[[list[Row]], None]:
    """Set one member of one row."""

    def change(found: list[Row]) -> None:
        setattr(found[index], name, value)

    return change


def test_a_run_is_identical_to_itself() -> None:
    found = difference(lambda found: None)
    assert found.identical
    assert found.divergence is None
    assert found.agreed == len(rows())


@pytest.mark.parametrize("declared", [{"can_resume": False, "unsafe_reasons": ["x"]}, {"seed": {"offset": 7}}, {}])
def test_what_a_checkpoint_says_of_resuming_is_no_difference(declared: dict[str, Any]) -> None:
    assert difference(put(2, "attrs", {**declared, "status": "ASKED"})).identical


CHANGED = [
    (put(0, "args", {"order": "o-2"}), 1, "$.order", "arguments"),
    (put(0, "result", {"answer": 2, "list": [1, 2]}), 1, "$.answer", "result"),
    (put(0, "result", {"answer": 1.0, "list": [1, 2]}), 1, "$.answer", "result"),
    (put(0, "result", {"answer": True, "list": [1, 2]}), 1, "$.answer", "result"),
    (put(0, "result", {"list": [1, 2], "answer": 1}), 1, "$", "result"),
    (put(0, "status", "error"), 1, "status", "result"),
    (put(1, "messages", [SYSTEM, OTHER_USER]), 2, "$.messages[1].content", "input.history"),
    (put(1, "messages", [OTHER_SYSTEM, USER]), 2, "$.messages[0].content", "input.system"),
    (put(1, "messages", [{"content": "Be brief.", "role": "system"}, USER]), 2, "$.messages[0]", "input.system"),
    (put(1, "messages", [USER]), 2, "$.messages[0].role", "input.system"),
    (put(1, "name", "m-2"), 2, "name", "model_id"),
    (put(1, "result", {"content": "no"}), 2, "$.content", "model_output"),
    (put(2, "args", {"status": "ASKED", "n": 2}), 3, "$.n", "result"),
    (put(2, "args", {"n": 1, "status": "ASKED"}), 3, "$", "result"),
    (put(2, "attrs", {"can_resume": True, "status": "DONE"}), 3, "attrs.status", "version"),
    (put(2, "attrs", {"can_resume": True, "status": 1}), 3, "attrs.status", "version"),
    (put(3, "args", [{"id": "p1", "sha256": "bb"}]), 4, "$[0].sha256", "input.retrieved"),
    (put(4, "args", {"id": "c"}), 5, "$.id", "arguments"),
    (put(4, "fork", 3), 5, "spawned", "order"),
    (put(5, "effect", "write"), 6, "effect", "version"),
    (put(7, "result", True), 8, "$", "result"),
    (put(6, "args", {"price": 1, "currency": "EUR"}), 7, "$.currency", "arguments"),
    (put(8, "args", {"n": 2}), 9, "$.n", "arguments"),
    (put(8, "result", "not helped"), 9, "$", "result"),
    (put(9, "args", {"q": [1, {"x": False}]}), 10, "$.q[1].x", "arguments"),
    (put(9, "parent", "root"), 10, "parent", "order"),
    (put(9, "lane", "0.2"), 10, "$", "order"),
    (put(10, "args", {"amount": 12, "to": "Ann"}), 11, "$.amount", "arguments"),
    (put(10, "args", {"to": "Ann", "amount": 12.5}), 11, "$", "arguments"),
    (put(10, "key", "k-2"), 11, "idempotency_key", "arguments"),
    (put(10, "key", None), 11, "idempotency_key", "arguments"),
    (put(11, "error", ("KeyError", "'other'")), 12, "error.message", "result"),
    (put(11, "error", ("ValueError", "'missing'")), 12, "error.type", "result"),
    (put(11, "error", None), 12, "error.type", "result"),
    (put(11, "status", "ok"), 12, "status", "result"),
    (put(11, "status", "cancelled"), 12, "status", "result"),
    (put(12, "result", "no"), 13, "$", "result"),
    (put(12, "attrs", {"who": "Mallory"}), 13, "attrs.who", "version"),
    (put(13, "args", {"max": 11}), 14, "$.max", "version"),
    (put(14, "args", {"state": "closed"}), 15, "$.state", "environment"),
    (put(15, "args", "LEFT"), 16, "$", "result"),
    (put(10, "name", "cancel"), 11, "$", "order"),
    (put(10, "kind", "http"), 11, "$", "order"),
    (lambda found: found.insert(10, Row("tool", "extra", {}, 1)), 11, "$", "order"),
    (lambda found: found.append(Row("tool", "extra", {}, 1)), 17, "$", "order"),
    (lambda found: found.append(Row("tool", "extra", {}, 1, lane="0.2", fork=9)), 17, "$", "order"),
    (lambda found: found.pop(10), 11, "$", "order"),
    (lambda found: found.pop(15), 16, "$", "order"),
    (lambda found: found.pop(7), 8, "$", "order"),
    (lambda found: found.insert(12, found.pop(13)), 13, "$", "order"),
    (lambda found: found.insert(6, found.pop(4)), 5, "$", "order"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CHANGED)))
def test_one_change_is_noticed_at_its_step(number: int) -> None:
    change, step, path, cause = CHANGED[number]
    found = difference(change)
    assert not found.identical
    assert found.divergence is not None
    at = found.divergence
    assert (at.step, at.path, at.cause) == (step, path, cause)
    assert at.expected != at.got


def swapped(found: list[Row]) -> None:
    """The two lanes change places, each with all that is in it."""
    for row in found:
        row.lane = {"0.0": "0.1", "0.1": "0.0"}.get(row.lane, row.lane)


def test_lanes_may_come_in_another_order() -> None:
    assert difference(swapped).identical


def test_a_lane_in_another_place_does_not_hide_a_change_in_it() -> None:
    def change(found: list[Row]) -> None:
        swapped(found)
        found[7].args = {"price": 3}

    at = difference(change).divergence
    assert at is not None
    assert (at.step, at.path, at.expected, at.got) == (8, "$.price", "2", "3")


def test_lanes_are_paired_by_the_calls_that_answered_them() -> None:
    def change(found: list[Row]) -> None:
        for row in found[4:8]:
            row.served = f"w:{found.index(row)}"
        swapped(found)
        found[4].args = {"id": "changed", "more": 1}
        found[5].args = {"id": "changed too", "more": 1}

    at = difference(change).divergence
    assert at is not None
    assert (at.step, at.path, at.expected, at.got) == (5, "$.id", "a", "changed")


def cut_at(index: int, **members: Any) -> Callable[[list[Row]], None]:
    """The run stops at a row whose call has no outcome, and so has everything around it."""

    def change(found: list[Row]) -> None:
        del found[index + 1 :]
        for name, value in {**members, "status": "open", "result": None, "error": None}.items():
            setattr(found[index], name, value)
        for row in found:
            if row.kind == "agent":
                row.status, row.result = "open", None

    return change


def test_a_stopped_run_differs_where_its_own_content_does() -> None:
    found = difference(cut_at(10, args={"amount": 13.5, "to": "Ann"}), stopped=True)
    assert found.divergence is not None
    assert (found.divergence.step, found.divergence.path) == (11, "$.amount")
    found = difference(cut_at(10), stopped=True)
    assert found.divergence is None
    assert not found.identical
    assert [step.n for step in found.missing] == [12, 13, 14, 15, 16]
    assert [step.n for step in found.unfinished] == [1, 9, 11]


def test_a_lane_that_stopped_is_no_difference_when_another_differs_later() -> None:
    def change(found: list[Row]) -> None:
        cut_at(7, args={"price": 99})(found)
        found[6].status, found[6].result = "open", None

    at = difference(change, stopped=True).divergence
    assert at is not None
    assert (at.step, at.path) == (8, "$.price")


def test_a_run_that_only_lacks_outcomes_is_not_identical() -> None:
    found = difference(put(10, "status", "open"))
    assert not found.identical
    assert found.divergence is not None
    assert (found.divergence.step, found.divergence.got) == (11, "no outcome")


def test_a_waiting_run_is_not_a_done_one() -> None:
    found = compare(source(rows()), source(rows(), RunStatus.WAITING))
    assert found.divergence is not None
    assert (found.divergence.path, found.divergence.expected, found.divergence.got) == ("run.status", "ok", "waiting")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, width=16) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_bodies_are_the_same_when_their_bytes_are(left: Any, right: Any) -> None:
    def run(value: Any) -> MemorySource:
        return source([Row("agent", "run", {}, 1, parent=None, id="root"), Row("tool", "t", {"v": value}, 1)])

    found = compare(run(left), run(right))
    assert found.identical == (json.dumps(left) == json.dumps(right))
    if not found.identical:
        assert found.divergence is not None
        assert found.divergence.step == 2
        assert found.divergence.path.startswith("$.v")
        assert found.divergence.expected != found.divergence.got
