"""The row of a record's calls and hand-offs: whose each place is, and when it came."""

from __future__ import annotations

from math import inf

from agentdbg.replay.placing import HandOff
from agentdbg.replay.row import Row


def test_an_arrival_is_owed_by_the_thread_that_gives_it() -> None:
    row = Row((), {0: HandOff(0, "0.1", "done"), 1: HandOff(0, "0.1/arrives", "arrives", [5, 1, 0, 1, 2], at=3.0)})
    assert [row.lane(0), row.lane(1), row.lane(7)] == ["0.1", "0.1/arrives", ""]
    assert [row.giver(0), row.giver(1)] == ["0.1", "0.1"]
    assert [row.arrives(0), row.arrives(1), row.arrives(7)] == [False, True, False]


def test_moments_never_go_back() -> None:
    places = {0: HandOff(0, "0", "put", at=2.0), 1: HandOff(0, "0", "get", at=1.0)}
    assert Row((), places).moments == [2.0, 2.0, inf]
