"""Segment lists are put together from what calls share, and damage is told."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.store.inputs import MAX_CHAIN, InputLists
from tests.support.records import input_hash, ref

Parts = list[tuple[str, bytes]]
parts = st.lists(st.tuples(st.sampled_from(["system", "message"]), st.binary(max_size=3)), max_size=5)


def member(base: str | None, before: Parts, after: Parts) -> dict[str, Any]:
    keep = 0
    if base is not None:
        while keep < min(len(before), len(after)) and before[keep] == after[keep]:
            keep += 1
    add = [{"kind": kind, "name": "n", "ref": ref(data)} for kind, data in after[keep:]]
    return {"hash": input_hash(after), "n": len(after), "base": base, "keep": keep, "add": add}


@given(st.lists(parts, min_size=1, max_size=8))
def test_every_input_is_put_together(inputs: list[Parts]) -> None:
    stored = {
        str(i): member(str(i - 1) if i else None, inputs[i - 1] if i else [], listed) for i, listed in enumerate(inputs)
    }
    lists = InputLists(stored.get)
    for i in reversed(range(len(inputs))):
        found = [(segment.kind, segment.ref.sha256) for segment in lists.segments(str(i))]
        assert found == [(kind, ref(data)["sha256"]) for kind, data in inputs[i]]
    assert lists.problems == {}


values = (
    st.none()
    | st.integers(-2, 5)
    | st.text(max_size=2)
    | st.lists(st.none() | st.dictionaries(st.just("ref"), st.none()), max_size=2)
)


@given(
    st.dictionaries(
        st.sampled_from("abc"),
        values
        | st.fixed_dictionaries(
            {}, optional={name: values | st.sampled_from("abc") for name in ("hash", "n", "base", "keep", "add")}
        ),
    )
)
def test_any_chain_ends(stored: dict[str, Any]) -> None:
    lists = InputLists(stored.get)
    for step_id in "abcd":
        lists.segments(step_id)
        lists.segments(step_id)


def test_a_chain_without_end_is_cut() -> None:
    endless = InputLists(lambda step_id: {"base": str(int(step_id) + 1), "keep": 1, "add": []})
    endless.segments("0")
    assert "never end" in endless.problems["0"]
    assert MAX_CHAIN < 10_000


def test_a_wrong_hash_or_number_is_a_problem() -> None:
    good = member(None, [], [("system", b"s")])
    for change, words in (
        ({"hash": "0" * 64}, "recorded input hash"),
        ({"n": 9}, "9 segments were sent, 1 can be read"),
    ):
        lists = InputLists({"a": {**good, **change}}.get)
        assert len(lists.segments("a")) == 1
        assert words in lists.problems["a"]
        lists.forget()
        assert lists.problems == {}
