"""Outcomes that were there before the program came to rest share a burst; the count tells how far apart they were."""

from __future__ import annotations

import asyncio

from agentdbg.recording.turns import NEAR, LoopTurns


def test_outcomes_of_one_turn_have_the_same_count() -> None:
    async def run() -> list[list[int]]:
        turns = LoopTurns(asyncio.get_running_loop())
        return [turns.ended(), turns.ended()]

    first, second = asyncio.run(run())
    assert first[2:] == second[2:] == [1, 0]


def test_the_count_rises_with_each_turn() -> None:
    async def run() -> list[int]:
        turns = LoopTurns(asyncio.get_running_loop())
        found = [turns.ended()[3]]
        for _ in range(3):
            await asyncio.sleep(0)
            found.append(turns.ended()[3])
        return found

    counts = asyncio.run(run())
    assert counts == sorted(set(counts)), "each later than the one before"


def test_a_program_that_came_to_rest_begins_another_burst() -> None:
    async def run() -> list[int]:
        turns = LoopTurns(asyncio.get_running_loop())
        before = turns.ended()
        await asyncio.sleep(0.002)
        after = turns.ended()
        return [before[2], *after[2:]]

    assert asyncio.run(run()) == [1, 2, 0]


def test_a_program_that_never_rests_is_not_counted_for_ever() -> None:
    async def run() -> int:
        turns = LoopTurns(asyncio.get_running_loop())
        turns.ended()
        for _ in range(NEAR + 2):
            await asyncio.sleep(0)
        return turns.ended()[2]

    assert asyncio.run(run()) == 2


def test_a_call_that_let_others_run_is_told_from_one_that_did_not() -> None:
    async def run() -> list[bool]:
        turns = LoopTurns(asyncio.get_running_loop())
        found = []
        for yields in (False, True):
            asked = turns.asked()
            if yields:
                await asyncio.sleep(0)
            found.append(asked == turns.ended()[:2])
        return found

    assert asyncio.run(run()) == [True, False]
