"""A replay's steps find their places beside the recorded ones, in whatever order they come."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.replay_pairs import PairTable, steps_inside
from tests.support.refund_run import refund_run

RECORDED = refund_run()
STEPS = RECORDED.steps()


def places(table: PairTable) -> list[tuple[int | None, int | None]]:
    return [(pair.recorded, pair.replayed) for pair in table.rows]


def test_the_same_steps_stand_beside_each_other() -> None:
    table = PairTable(RECORDED)
    for index, step in enumerate(STEPS):
        table.place(index, step)
        assert table.newest == index
    assert places(table) == [(index, index) for index in range(len(STEPS))]


def test_a_call_whose_mate_is_known_goes_there_in_another_order() -> None:
    table = PairTable(RECORDED)
    table.mates.update({"x": 6, "y": 4})
    table.place(0, replace(STEPS[6], id="x"))
    table.place(1, replace(STEPS[4], id="y"))
    assert (table.rows[6].replayed, table.rows[4].replayed, table.newest) == (0, 1, 4)


def test_new_steps_stand_behind_the_one_before() -> None:
    table = PairTable(RECORDED)
    table.place(0, replace(STEPS[4], name="unheard of"))
    assert places(table)[:2] == [(None, 0), (0, None)]
    table.place(1, STEPS[0])
    table.place(2, replace(STEPS[4], name="unheard of"))
    table.place(3, replace(STEPS[4], name="unheard of"))
    assert places(table)[:5] == [(None, 0), (0, 1), (None, 2), (None, 3), (1, None)]
    assert table.row_of(1) == 4


def test_what_lies_inside_served_calls() -> None:
    met = [step for step in STEPS if step.n - 1 not in steps_inside(RECORDED)]
    calls = {step.id for step in met if step.is_call}
    assert all(step.parent not in calls for step in met)
