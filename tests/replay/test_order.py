"""What a program saw at once it sees at once again, and what it saw one after the other, one after the other."""

from __future__ import annotations

import json

import pytest

from agentdbg.replay.verdict import ORDER_LOST
from agentdbg.store.journal import encode_record
from tests.support.replay_lab import ReplayLab

PRELUDE = """\
import asyncio, time
import agentdbg

START = 0.0

@agentdbg.tool(effect="read")
async def ask(name, turns, delay=0.0):
    # every answer of a round is there at the same moment, give or take some turns of the loop
    await asyncio.sleep(START + delay - asyncio.get_running_loop().time())
    for _ in range(turns):
        await asyncio.sleep(0)
    return name

def begin():
    global START
    START = asyncio.get_running_loop().time() + 0.01

"""
MAIN = """
if __name__ == "__main__":
    print(asyncio.run(run()))
"""
WATCHERS = {
    "first_completed_cancels_the_others": """
async def watch(offsets):
    tasks = [asyncio.create_task(ask(str(i), turns)) for i, turns in enumerate(offsets)]
    done, late = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()
    lost = await asyncio.gather(*late, return_exceptions=True)
    return sorted(task.result() for task in done), [type(error).__name__ for error in lost]
""",
    "first_completed_waits_for_the_others": """
async def watch(offsets):
    waiting, seen = {asyncio.create_task(ask(str(i), turns)) for i, turns in enumerate(offsets)}, []
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        seen.append(sorted(task.result() for task in done))
    return seen
""",
    "as_completed": """
async def watch(offsets):
    tasks, seen = [asyncio.create_task(ask(str(i), turns)) for i, turns in enumerate(offsets)], []
    for answer in asyncio.as_completed(tasks):
        seen.append((await answer, sum(task.done() for task in tasks)))
    return seen
""",
    "queue_consumer": """
async def watch(offsets):
    queue, seen = asyncio.Queue(), []
    async def produce(name, turns):
        await queue.put(await ask(name, turns))
    async with asyncio.TaskGroup() as group:
        for i, turns in enumerate(offsets):
            group.create_task(produce(str(i), turns))
        for _ in offsets:
            seen.append((await queue.get(), queue.qsize()))
    return seen
""",
    "gather_and_shared_list": """
async def watch(offsets):
    seen = []
    async def one(name, turns):
        seen.append((await ask(name, turns), len(seen)))
        await asyncio.sleep(0)
        seen.append((name, len(seen)))
    await asyncio.gather(*(one(str(i), turns) for i, turns in enumerate(offsets)))
    return seen
""",
    "calls_after_calls": """
async def watch(offsets):
    seen = []
    async def one(name, turns):
        first = await ask(name, turns)
        seen.append(first)
        agentdbg.checkpoint("seen", list(seen))
        return first, await ask("then " + first, 1)
    found = await asyncio.gather(*(one(str(i), turns) for i, turns in enumerate(offsets)))
    return found, seen
""",
    "timeout_of_a_group": """
async def watch(offsets):
    tasks = [asyncio.create_task(ask(str(i), turns, 0.05 * (i == 1))) for i, turns in enumerate(offsets)]
    done, late = await asyncio.wait(tasks, timeout=0.03)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    return sorted(task.result() for task in done)
""",
    "events_and_conditions": """
async def watch(offsets):
    first, seen = asyncio.Event(), []
    async def one(name, turns):
        seen.append(await ask(name, turns))
        first.set()
    tasks = [asyncio.create_task(one(str(i), turns)) for i, turns in enumerate(offsets)]
    await first.wait()
    at_first = list(seen)
    await asyncio.gather(*tasks)
    return at_first, seen
""",
}
RUN = """
@agentdbg.agent
async def run():
    seen = []
    for offsets in [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (3, 3, 0), (0, 1, 2), (0, 9)]:
        begin()
        seen.append(await watch(offsets))
    return seen
"""
ONE_TURN = """
@agentdbg.agent
async def run():
    begin()
    return await watch((0, 0))
"""


def check_identical(lab: ReplayLab) -> None:
    outcome = lab.replay()
    assert outcome.verdict == "identical", (outcome.reason, outcome.log)
    assert ORDER_LOST not in outcome.notes


@pytest.mark.parametrize("name", WATCHERS)
def test_what_was_seen_at_once_is_seen_at_once(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + WATCHERS[name] + RUN + MAIN)
    check_identical(lab)


def test_a_record_without_counted_turns_goes_by_what_lies_between(lab: ReplayLab) -> None:
    lab.record(PRELUDE + WATCHERS["first_completed_cancels_the_others"] + ONE_TURN + MAIN)
    for path in (lab.store / "runs" / "run-1" / "events").iterdir():
        lines = [line for line in path.read_text().splitlines() if line]
        events = [{k: v for k, v in json.loads(line).items() if k not in ("turn", "_c")} for line in lines]
        timed = [{**event, "mono": 20_000 * event["seq"]} for event in events]  # neighbours are 20 µs apart
        path.write_bytes(b"".join(encode_record(event) for event in timed))
    check_identical(lab)


DIED = {
    "tasks": """
@agentdbg.tool(effect="read")
async def hangs():
    await asyncio.sleep(60)

@agentdbg.tool(effect="read")
async def dies():
    await asyncio.sleep(0.01)
    return 1

@agentdbg.agent
async def run():
    hanging = asyncio.create_task(hangs())
    agentdbg.checkpoint("found", {"n": await dies()})
    if "DIE" in os.environ:
        os._exit(9)
    await hanging

if __name__ == "__main__":
    asyncio.run(run())
""",
    "threads": """
@agentdbg.tool(effect="read")
def hangs():
    time.sleep(60)

@agentdbg.tool(effect="read")
def dies():
    time.sleep(0.05)
    return 1

@agentdbg.agent
def run():
    thread = threading.Thread(target=hangs)
    thread.start()
    agentdbg.checkpoint("found", {"n": dies()})
    if "DIE" in os.environ:
        os._exit(9)
    thread.join()

if __name__ == "__main__":
    run()
""",
}


@pytest.mark.parametrize("name", DIED)
def test_a_record_that_breaks_off_while_a_call_goes_on(lab: ReplayLab, name: str) -> None:
    lab.record("import asyncio, os, threading, time\nimport agentdbg\n" + DIED[name], env={"DIE": "1"}, ok=False)
    outcome = lab.replay(timeout=10)
    assert outcome.verdict == "recording_ended", (outcome.reason, outcome.log)
    assert outcome.reason.endswith("checkpoint found"), outcome.reason


@pytest.mark.wide
@pytest.mark.parametrize("name", WATCHERS)
def test_twenty_replays_see_the_same(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + WATCHERS[name] + RUN + MAIN)
    for _ in range(20):
        check_identical(lab)
