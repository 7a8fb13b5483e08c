"""Outcomes come back to whom they belong and in the recorded order, in threads and in tasks, without stalls."""

from __future__ import annotations

import pytest

from agentdbg.replay.thread_order import STALL_S
from agentdbg.replay.verdict import ORDER_LOST
from tests.support.replay_lab import ReplayLab

PRELUDE = """\
import asyncio, concurrent.futures, contextlib, os, random, threading, time
import agentdbg

def ledger(what):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write(what + "\\n")

@agentdbg.tool(effect="read")
def slow(name, seconds):
    ledger(name)
    time.sleep(seconds or 0.001 * random.SystemRandom().randrange(8))
    return {"name": name, "nonce of the world": random.SystemRandom().random()}

@agentdbg.tool(effect="read")
async def slow_async(name, seconds):
    ledger(name)
    await asyncio.sleep(seconds or 0.001 * random.SystemRandom().randrange(8))
    return {"name": name, "nonce of the world": random.SystemRandom().random()}

@agentdbg.tool(effect="write")
def note(text):
    ledger(str(text))
    return len(str(text))

"""
MAIN = """
if __name__ == "__main__":
    result = run()
    print(asyncio.run(result) if asyncio.iscoroutine(result) else result)
"""
AGENTS = {
    "same_prompt_in_threads": """
@agentdbg.agent
def run():
    def one(i):
        found = slow("same", 0)
        note(found["nonce of the world"])
        return found
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, range(4)))
""",
    "same_prompt_in_tasks": """
@agentdbg.agent
async def run():
    async def one(i):
        found = await slow_async("same", 0)
        note(found["nonce of the world"])
        return found
    return await asyncio.gather(*(one(i) for i in range(4)))
""",
    "as_completed_in_threads": """
@agentdbg.agent
def run():
    order = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(slow, f"t{i}", 0.02 * (4 - i)) for i in range(4)]
        for done in concurrent.futures.as_completed(waiting):
            order.append(done.result()["name"])
    return order
""",
    "as_completed_in_tasks": """
@agentdbg.agent
async def run():
    order = []
    for done in asyncio.as_completed([slow_async(f"t{i}", 0.02 * (4 - i)) for i in range(4)]):
        order.append((await done)["name"])
    return order
""",
    "raw_threads_and_a_queue": """
import queue
@agentdbg.agent
def run():
    found = queue.Queue()
    workers = [threading.Thread(target=lambda i=i: found.put(slow(f"t{i}", 0.02 * (4 - i)))) for i in range(3)]
    for worker in workers:
        worker.start()
    return [found.get()["name"] for _ in workers]
""",
    "first_completed": """
@agentdbg.agent
async def run():
    tasks = [asyncio.create_task(slow_async("late", 0.04)), asyncio.create_task(slow_async("soon", 0.01))]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    first = [task.result()["name"] for task in done]
    late = [(await task)["name"] for task in pending]
    return first, late
""",
    "first_completed_cancels_the_loser": """
@agentdbg.agent
async def run():
    tasks = [asyncio.create_task(slow_async("late", 5)), asyncio.create_task(slow_async("soon", 0.01))]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    lost = await asyncio.gather(*pending, return_exceptions=True)
    note("after")
    return [task.result()["name"] for task in done], [type(error).__name__ for error in lost]
""",
    "timeout_around_a_tool": """
@agentdbg.agent
async def run():
    try:
        async with asyncio.timeout(0.05):
            await slow_async("never", 5)
    except TimeoutError:
        note("too late")
    return await asyncio.wait_for(slow_async("fine", 0.001), 1)
""",
    "to_thread": """
@agentdbg.agent
async def run():
    found = await asyncio.gather(*(asyncio.to_thread(slow, f"t{i}", 0.02 - 0.01 * i) for i in range(3)))
    return [item["name"] for item in found]
""",
    "left_running_behind_the_end": """
@agentdbg.agent
def run():
    threading.Thread(target=slow, args=("for ever", 60), daemon=True).start()
    time.sleep(0.02)
    return note("done")
""",
    "sync_call_between_tasks": """
@agentdbg.agent
async def run():
    async def one():
        found = await slow_async("a", 0.01)
        await asyncio.sleep(0.02)
        return note(found["name"])
    async def two():
        found = await slow_async("b", 0.02)
        return note(found["name"])
    return await asyncio.gather(one(), two())
""",
    "reads_in_a_loop_of_pools": """
@agentdbg.agent
def run():
    found = []
    for turn in range(3):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            found += [item["name"] for item in pool.map(lambda i: slow(f"{turn}.{i}", 0.001 * (3 - i)), range(3))]
        note(found[-1])
    return found
""",
    "forks_inside_tools": """
@agentdbg.tool(effect="read")
async def fans_out(name):
    await asyncio.gather(*(asyncio.sleep(0.001) for _ in range(int(name))))
    return await asyncio.to_thread(lambda: random.SystemRandom().random())

@agentdbg.agent
async def run():
    await fans_out("3")
    async def one(i):
        found = await slow_async("same", 0.001)
        return note(found["nonce of the world"]), await fans_out("2")
    return await asyncio.gather(*(one(i) for i in range(3)))
""",
}


def check_identical(lab: ReplayLab) -> None:
    outcome = lab.replay()
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    assert ORDER_LOST not in outcome.notes
    assert lab.seconds < STALL_S + 8


@pytest.mark.parametrize("name", AGENTS)
def test_outcomes_come_back_in_recorded_order(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + AGENTS[name] + MAIN)
    for _ in range(2 if "same_prompt" in name else 1):
        check_identical(lab)


@pytest.mark.wide
@pytest.mark.parametrize("name", AGENTS)
def test_fifty_replays_of_parallel_calls_never_diverge(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + AGENTS[name] + MAIN)
    for _ in range(50 if "same_prompt" in name else 10):
        check_identical(lab)
