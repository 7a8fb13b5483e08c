"""Lanes without the forks that bear no event."""

from __future__ import annotations

from agentdbg.model.lanes import normalise, parse


def test_bare_forks_leave_no_trace() -> None:
    assert normalise(["0", "0.3", "0.7"]) == {"0": "0", "0.3": "0.0", "0.7": "0.1"}
    assert normalise(["0", "0.3.2", "0.3.9"]) == {"0": "0", "0.3.2": "0.0", "0.3.9": "0.1"}
    assert normalise(["0", "0.1", "0.1.4"]) == {"0": "0", "0.1": "0.0", "0.1.4": "0.0.0"}


def test_two_runs_with_other_bare_forks_have_the_same_lanes() -> None:
    live = normalise(["0", "0.2", "0.5", "0.5.1"])
    replayed = normalise(["0", "0.0", "0.1", "0.1.0"])
    assert sorted(live.values()) == sorted(replayed.values())


def test_creation_order_is_numeric() -> None:
    assert normalise(["0", "0.10", "0.9"]) == {"0": "0", "0.9": "0.0", "0.10": "0.1"}


def test_a_damaged_lane_is_the_root() -> None:
    assert parse("x.1") == parse("") == parse("0." + "9" * 5000) == (0,)
    assert normalise(["0", "junk"])["junk"] == "0"
