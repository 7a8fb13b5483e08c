"""The row of a record's calls and hand-offs: whose each place is, and when it came."""

from __future__ import annotations

from math import inf

from agentdbg.replay.cassette import RecordedCall
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


def test_a_thread_does_what_no_event_loop_was_noted_with() -> None:
    in_loop = RecordedCall("w:1", "tool", "look", "0", "fp", "", 0, 3, "ok", asked_turn=(1, 0, 0), turn=(1, 1, 0, 0, 4))
    in_thread = RecordedCall("w:2", "tool", "look", "0.0", "fp", "", 1, 2, "ok")
    handed = {
        4: HandOff(4, "0.0", "done"),
        5: HandOff(4, "0.0/arrives", "arrives", [5, 1, 1, 0, 0, 9]),
        6: HandOff(4, "0/fires", "fires", [1, 0, 0, 11, 1]),
        7: HandOff(4, "0/loop", "set"),
    }
    row = Row([in_loop, in_thread], handed)
    assert [row.in_thread(place) for place in range(8)] == [False, True, True, False, True, True, False, False]
    assert {place: steps.number for place, steps in row.steps.items()} == {0: 0, 3: 4, 5: 9, 6: 11}
    assert row.coming == {3, 5, 6}
