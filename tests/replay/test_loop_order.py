"""What comes to an event loop comes between the same two steps of the program, however busy loop and threads were."""

from __future__ import annotations

import asyncio

import pytest

from agentdbg.replay.loop_order import release
from tests.support.replay_lab import ReplayLab

# Each run draws its own program: who waits how long, for what, and who keeps the loop busy meanwhile.
PROGRAM = """\
import asyncio, os, random, time
import agentdbg

DRAWN = random.Random(os.environ["SEED"])
BUSY = os.environ["BUSY"] == "1"

@agentdbg.tool(effect="read")
def ask(name, seconds):
    time.sleep(seconds)
    return {"name": name}

@agentdbg.tool(effect="read")
async def ask_async(name, seconds):
    await asyncio.sleep(seconds)
    return {"name": name}

def seconds():
    return DRAWN.choice([0, 0, 0.001, 0.005, 0.01, 0.02])

def in_thread(name, before, after):
    ask(name, before)
    time.sleep(after)
    if after:
        sum(i * i for i in range(20000))
    return name

@agentdbg.agent
async def run():
    seen = []

    def works(how_long):
        if BUSY:
            time.sleep(how_long)  # and the event loop stands still

    async def threads(name, x, y, z):
        seen.append(await asyncio.to_thread(in_thread, name, x, y))
        works(z)
        if z > 0.005:
            seen.append((await ask_async(name + "'", y))["name"])
            seen.append(await asyncio.to_thread(in_thread, name + "''", y, x))

    async def tasks(name, x, y, z):
        seen.append((await ask_async(name, x))["name"])
        works(y)
        seen.append((await ask_async(name + "'", z))["name"])

    for turn in range(5):
        jobs = [
            DRAWN.choice([threads, tasks])(str(n), seconds(), seconds(), seconds())
            for n in range(DRAWN.choice([2, 3, 5]))
        ]
        if DRAWN.random() < 0.3:
            left = [asyncio.create_task(job) for job in jobs]
            while left:
                done, others = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                seen.append(len(done))
                left = [each for each in left if each in others]
        else:
            await asyncio.gather(*jobs)
        agentdbg.checkpoint("seen", list(seen))
    return seen

if __name__ == "__main__":
    asyncio.run(run())
"""


def drawn(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch, seed: str, *, busy: bool, replays: int) -> None:
    monkeypatch.setenv("SEED", seed)
    monkeypatch.setenv("BUSY", str(int(busy)))
    lab.record(PROGRAM)
    for _ in range(replays):
        outcome = lab.replay(f"run-{lab.runs}")
        assert outcome.verdict == "identical", (seed, outcome.reason, outcome.notes, outcome.log)


@pytest.mark.parametrize("busy", [False, True])
def test_what_comes_comes_where_it_came(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    drawn(lab, monkeypatch, "7", busy=busy, replays=1)


@pytest.mark.wide
@pytest.mark.parametrize("busy", [False, True])
def test_forty_drawn_programs(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    for n in range(40):
        drawn(lab, monkeypatch, f"w{n}", busy=busy, replays=3)


def test_who_is_released_goes_on_ahead_of_the_queue() -> None:
    async def run() -> list[str]:
        loop, seen = asyncio.get_running_loop(), list[str]()
        future = loop.create_future()

        async def waits() -> None:
            await future
            seen.append("released")

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        loop.call_soon(seen.append, "queued before")
        loop.call_soon(release, loop, future)
        loop.call_soon(seen.append, "queued behind")
        await task
        assert "call_soon" not in vars(loop)
        return seen

    assert asyncio.run(run()) == ["queued before", "released", "queued behind"]
