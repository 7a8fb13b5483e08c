"""Filters of the run list."""

from __future__ import annotations

from agentdbg.cli.describe import matches
from agentdbg.model.records import RunStatus, RunSummary

RUN = RunSummary("r", RunStatus.FAILED, thread_id="t", tags={"a": "1"})


def test_every_filter_that_is_given_must_hold() -> None:
    assert matches(RUN, [], None, [])
    assert matches(RUN, ["ok", "failed"], "t", [("a", "1")])
    assert not matches(RUN, ["ok"], "t", [("a", "1")])
    assert not matches(RUN, ["failed"], "other", [])
    assert not matches(RUN, [], None, [("a", "2")])
