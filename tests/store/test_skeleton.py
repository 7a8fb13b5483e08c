"""Pairing, linking and counting hold whatever comes in, in whatever order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.store.skeleton import Skeleton, split_step_id
from tests.support.records import WRITER, intent, outcome, writer

values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just(f"{WRITER}:1")
    | st.lists(st.none(), max_size=1)
)
members = st.dictionaries(
    st.sampled_from(["seq", "mono", "wall", "kind", "lane", "parent", "of", "status", "effect", "what", "boot"]), values
)
types = st.sampled_from(["writer", "intent", "outcome", "step", "chunk", "hole", "end", "novel"]) | values


@given(st.lists(st.tuples(types, members), max_size=20))
def test_no_record_is_lost_and_none_crashes(records: list[tuple[Any, dict[str, Any]]]) -> None:
    skeleton = Skeleton()
    rows = skeleton.add_writer(WRITER)
    for offset, (kind, record) in enumerate(records):
        skeleton.add(rows, offset, {"seq": offset, **record, "e": kind})
        if offset % 3 == 0:
            skeleton.settle()
    skeleton.settle()
    found = [
        offset
        for position in range(len(skeleton.order))
        for _, offset in skeleton.records_of(skeleton.order.at(position))
    ]
    found += [offset for _, offset, _ in skeleton.others()]
    assert sorted(found) == list(range(len(records)))
    assert all(0 <= skeleton.depth(skeleton.order.at(position)) <= 1000 for position in range(len(skeleton.order)))


@given(st.permutations(range(6)))
def test_records_of_several_files_pair_in_any_order(order: list[int]) -> None:
    skeleton = Skeleton()
    one, two = skeleton.add_writer("one"), skeleton.add_writer("two")
    arriving = [
        (one, writer(0, "one")),
        (one, intent(1, parent=None)),
        (two, writer(0, "two", parent="one:1")),
        (two, intent(1, parent=None)),
        (one, outcome(2, "two:1", "cancelled")),
        (two, outcome(2, "one:1", "error")),
    ]
    for place in sorted(order, key=lambda i: (order.index(i) // 2, i)):
        rows, record = arriving[place]
        skeleton.add(rows, place, record)
        skeleton.settle()
    first, second = skeleton.locate("one:1"), skeleton.locate("two:1")
    assert first is not None and second is not None
    assert len(skeleton.records_of(first)) == len(skeleton.records_of(second)) == 2
    assert skeleton.orphans() == []
    assert list(skeleton.select((), (), ["error"])) == [skeleton.order.position(first)]
    assert list(skeleton.select((), (), ["cancelled"])) == [skeleton.order.position(second)]


@pytest.mark.parametrize("text", ["", ":", "a", "a:", "a:-1", "a:1.0", "a:\u0661", "a:" + "9" * 19, None, 7])
def test_what_is_no_step_id_is_none(text: object) -> None:
    assert split_step_id(text) is None


def test_a_step_id_is_split_at_its_last_colon() -> None:
    assert split_step_id("a:b:7") == ("a:b", 7)


def test_depth_follows_links_that_come_late_and_ends_in_a_circle() -> None:
    skeleton = Skeleton()
    rows = skeleton.add_writer(WRITER)
    for seq in range(2, 5):
        skeleton.add(rows, seq, intent(seq, parent=seq - 1))
    skeleton.settle()
    assert [skeleton.depth(row) for row in range(3)] == [0, 1, 2]
    skeleton.add(rows, 9, intent(1))
    skeleton.settle()
    assert [skeleton.depth(row) for row in range(4)] == [1, 2, 3, 0]
    circle = Skeleton()
    rows = circle.add_writer(WRITER)
    for seq, parent in ((1, 2), (2, 1), (3, 2)):
        circle.add(rows, seq, intent(seq, parent=parent))
    assert [circle.depth(row) for row in range(3)] == [1000, 1000, 1000]
