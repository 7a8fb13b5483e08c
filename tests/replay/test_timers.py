"""Timers of event loops and sleeps of threads take no time in a replay, and come where they came among the outcomes."""

from __future__ import annotations

import time
from math import inf

import pytest

from agentdbg.replay.clock import ShownTime
from tests.support.replay_lab import ReplayLab

PRELUDE = """\
import asyncio, time
import agentdbg

@agentdbg.tool(effect="read")
async def ask(name, delay=0.0, fails=False):
    await asyncio.sleep(delay)
    if fails:
        raise ValueError(name)
    return name

@agentdbg.tool(effect="none")
def note(what):
    return what

@agentdbg.agent
def run():
    return asyncio.run(main())
"""
MAIN = """
if __name__ == "__main__":
    print(run())
"""
PROGRAMS = {
    "deadline_loop": """
async def main():
    loop, rounds = asyncio.get_running_loop(), 0
    end = loop.time() + 0.5
    while loop.time() < end:
        await ask(rounds, 0.02)
        await asyncio.sleep(0.1)
        rounds += 1
    return note(rounds)
""",
    "wait_for": """
async def main():
    seen = [await asyncio.wait_for(ask("quick", 0.1), 0.4)]
    for wrap in (lambda call: call, asyncio.ensure_future):
        try:
            seen.append(await asyncio.wait_for(wrap(ask("slow", 0.6)), 0.2))
        except asyncio.TimeoutError:
            seen.append("late")
    return note(seen)
""",
    "heartbeat": """
async def main():
    beats = 0
    async def beat():
        nonlocal beats
        while True:
            await asyncio.sleep(0.2)
            beats += 1
    beating = asyncio.create_task(beat())
    seen = [await ask("a", 0.5), beats, await ask("b", 0.6), beats]
    beating.cancel()
    return note(seen)
""",
    "polls_a_running_call": """
async def main():
    task, rounds = asyncio.create_task(ask("a", 0.7)), 0
    while not task.done():
        await asyncio.wait({task}, timeout=0.2)
        rounds += 1
    return note(rounds)
""",
    "gather_with_sleeps": """
async def main():
    seen = []
    async def one(name, before, after):
        await asyncio.sleep(before)
        seen.append(await ask(name, 0.02))
        await asyncio.sleep(after)
        seen.append(note(-name))
    await asyncio.gather(one(1, 0.3, 0.3), one(2, 0.1, 0.3), one(3, 0.2, 0.7))
    return note(seen)
""",
    "group_under_a_timeout": """
async def main():
    seen = []
    async def one(name, delay):
        seen.append(await ask(name, delay))
    for delays in ((0.05, 0.15, 0.9), (0.05, 0.25)):
        try:
            async with asyncio.timeout(0.5), asyncio.TaskGroup() as group:
                for name, delay in enumerate(delays):
                    group.create_task(one(name, delay))
        except TimeoutError:
            seen.append("late")
    return note(seen)
""",
    "call_later": """
async def main():
    loop, seen = asyncio.get_running_loop(), []
    done = loop.create_future()
    loop.call_later(0.6, lambda: done.set_result(note("end")))
    loop.call_later(0.2, lambda: seen.append(note("b")))
    loop.call_later(0.1, lambda: seen.append(note("a")))
    seen.append(await ask("x", 0.4))
    seen.append(await done)
    return note(seen)
""",
    "threads_that_sleep": """
async def main():
    seen = [await ask("warm")]
    def work(name, seconds):
        for _ in range(2):
            time.sleep(seconds)
            seen.append(name)
    async def tick():
        await asyncio.sleep(0.5)
        seen.append("tick")
    first = asyncio.wait_for(asyncio.to_thread(work, 1, 0.2), 3)
    await asyncio.gather(first, asyncio.to_thread(work, 2, 0.32), tick(), ask("z", 0.8))
    return note(seen)
""",
    "work_in_a_thread": """
async def main():
    async with asyncio.timeout(60):
        return note(await asyncio.to_thread(sum, range(3_000_000)))
""",
    "anyio": """
import anyio

async def main():
    rounds = 0
    with anyio.move_on_after(0.55):
        while True:
            await ask(rounds, 0.02)
            await anyio.sleep(0.2)
            rounds += 1
    with anyio.fail_after(0.5):
        await ask("q", 0.2)
    return note(rounds)
""",
}
BACKOFF = """
UNIT = 0.01

async def main():
    for attempt in range(5):
        try:
            return await ask(attempt, fails=attempt < 4)
        except ValueError:
            await asyncio.sleep(UNIT * 2**attempt)
            time.sleep(UNIT)
"""
QUICK = ("deadline_loop", "wait_for", "heartbeat")


def check_again(lab: ReplayLab, program: str, times: int) -> None:
    lab.record(PRELUDE + program + MAIN)
    for _ in range(times):
        outcome = lab.replay()
        assert outcome.verdict == "identical", (outcome.reason, outcome.log)


@pytest.mark.parametrize("name", QUICK)
def test_timers_come_where_they_came(lab: ReplayLab, name: str) -> None:
    check_again(lab, PROGRAMS[name], 1)


@pytest.mark.wide
@pytest.mark.parametrize("name", PROGRAMS)
def test_timers_come_where_they_came_ten_times(lab: ReplayLab, name: str) -> None:
    check_again(lab, PROGRAMS[name], 10)


def test_a_backoff_of_minutes_is_skipped(lab: ReplayLab) -> None:
    lab.record(PRELUDE + BACKOFF + MAIN)
    lab.write(PRELUDE + BACKOFF.replace("0.01", "60") + MAIN)
    outcome = lab.replay()  # it is given less than the quarter of an hour that this would take
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)


def test_time_is_never_before_what_has_happened_and_goes_slowly_up_to_what_comes_next() -> None:
    shown = ShownTime(100.0)
    shown.until(160.0)
    shown.to(130.0)
    time.sleep(0.05)
    assert 130.0 < shown.now() < 131.0
    shown.to(120.0)
    shown.on(5)
    assert 135.0 < shown.now() < 136.0
    shown.until(inf)
    before = shown.now()
    time.sleep(0.05)
    assert shown.now() - before >= 0.05
