from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.compare.alignment import APPROXIMATE, Alignment, Finder, Row, Stopped, align

items = st.lists(st.integers(0, 6), max_size=30)


def longest(a: Sequence[object], b: Sequence[object]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        above = row
        row = [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
    return row[-1]


def signs(found: Alignment) -> str:
    return "".join(row.sign for row in found.rows)


@given(items, items)
def test_an_alignment_holds_every_item_once_in_order_and_keeps_as_many_as_possible(a, b) -> None:
    found = align(a, b)
    assert [row.i for row in found.rows if row.i is not None] == list(range(len(a)))
    assert [row.j for row in found.rows if row.j is not None] == list(range(len(b)))
    kept = [row for row in found.rows if row.sign == "="]
    assert all(a[row.i] == b[row.j] for row in kept)
    assert len(kept) == longest(a, b)
    assert found.note == ""
    assert found.same == (a == b)


@given(items, items)
def test_beyond_the_budget_an_alignment_is_still_valid(a, b) -> None:
    pairs = Finder(cells=0).matches(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert pairs == sorted(set(pairs))
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)


@given(st.permutations(range(12)), st.permutations(range(12)))
def test_unique_items_are_aligned_as_well(a, b) -> None:
    assert signs(align(a, b)).count("=") == longest(a, b)


def test_one_item_inserted_among_six_thousand_is_one_insertion() -> None:
    hashes = [f"{n * 7919:064x}" for n in range(6000)]
    for place in (0, 1, 3000, 6000):
        found = align(hashes, [*hashes[:place], "new", *hashes[place:]])
        assert [row for row in found.rows if row.sign != "="] == [Row("+", None, place)]


def test_one_insertion_among_repeated_items_is_one_insertion() -> None:
    lines = ["", "a", "", "b"] * 500
    found = align(lines, [*lines[:1001], "x", *lines[1001:]])
    assert signs(found).count("=") == 2000
    assert signs(found).count("+") == 1


def test_four_hundred_changed_of_two_thousand_are_four_hundred_changes() -> None:
    before = [f"line {n}" if n % 3 else "" for n in range(2000)]
    after = [f"{line}!" if n % 5 == 0 else line for n, line in enumerate(before)]
    found = align(before, after)
    assert signs(found).count("~") + signs(found).count("+") == 400
    assert not found.note


def test_changed_items_are_paired_by_what_they_have_in_common() -> None:
    a, b = ["u1", "x", "a1"], ["u2", "a2"]
    keys = (["user", "tool", "assistant"].__getitem__, ["user", "assistant"].__getitem__)
    assert signs(align(a, b, alike=[keys])) == "~-~"
    assert align(a, b, alike=[keys]).rows == (Row("~", 0, 0), Row("-", 1, None), Row("~", 2, 1))


def test_looser_identities_are_tried_after_stricter_ones() -> None:
    a, b = ["1", "2"], ["3", "4", "5"]
    strict = (["p", "q"].__getitem__, ["z", "z", "q"].__getitem__)
    loose = (["k", "k"].__getitem__, ["k", "n", "k"].__getitem__)
    assert align(a, b, alike=[strict, loose]).rows == (Row("~", 0, 0), Row("+", None, 1), Row("~", 1, 2))


def test_numbers_that_python_takes_for_equal_by_hash_are_told_apart() -> None:
    assert signs(align([-1, -2], [-2, -1])) in ("-=+", "+=-")


def test_a_case_beyond_the_budget_says_so_and_ends() -> None:
    a = ["x", "y"] * 15_000
    b = ["y", "y", "x"] * 10_000
    found = align(a, b)
    assert found.note == APPROXIMATE
    assert len([row for row in found.rows if row.i is not None]) == len(a)


def test_work_ends_when_the_answer_is_no_longer_wanted() -> None:
    with pytest.raises(Stopped):
        align(["x", "y", "x"] * 400, ["y", "x"] * 400, should_stop=lambda: True)


def test_nothing_against_nothing_and_something() -> None:
    assert align([], []).rows == ()
    assert signs(align([], ["a"])) == "+"
    assert signs(align(["a"], [])) == "-"
