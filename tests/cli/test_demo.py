"""The shipped runs: which case is meant, and what is shown without a terminal."""

from __future__ import annotations

import pytest

from agentdbg.cli.demo import about, find_case, in_order
from agentdbg.cli.errors import Trouble
from agentdbg.model.records import RunStatus, RunSummary
from tests.support.program import document


def run(run_id: str, case: str = "", flag: str | None = None) -> RunSummary:
    return RunSummary(run_id, RunStatus.OK, tags={"case": case} if case else {}, flag=flag)


RUNS = [run("twin-1", "before"), run("bad-2", "incident"), run("real-3")]


@pytest.mark.parametrize(
    ("case", "expected"), [(None, "bad-2"), ("before", "twin-1"), ("real-3", "real-3"), ("win", "twin-1")]
)
def test_a_case_is_found_by_its_name_or_run(case: str | None, expected: str) -> None:
    assert find_case(RUNS, case).run_id == expected


def test_without_a_named_incident_the_flagged_run_is_it() -> None:
    assert find_case([run("a"), run("b", flag="paid twice")], None).run_id == "b"
    assert find_case([run("a"), run("b")], None).run_id == "a"


def test_an_unknown_case_lists_the_cases() -> None:
    with pytest.raises(Trouble, match="no demo case x; there are: before, incident, real-3") as caught:
        find_case(RUNS, "x")
    assert caught.value.status == 5


def test_the_incident_is_told_first_and_a_run_that_is_no_case_last() -> None:
    runs = [run("other"), run("c", "long"), run("b", "twin"), run("a", "incident")]
    assert [each.run_id for each in in_order(runs)] == ["a", "b", "c", "other"]


def test_what_to_find_is_told_with_the_run_or_its_flag() -> None:
    told = RunSummary("a", RunStatus.OK, tags={"about": "paid twice"}, flag="bad")
    assert [about(each) for each in (told, run("b", flag="bad"), run("c"))] == ["paid twice", "bad", ""]


def test_the_cases_are_listed() -> None:
    found = document("demo", "--list")
    assert found["schema"] == "agentdbg.demo/1"
    assert isinstance(found["cases"], list)
