"""Sets of tasks and futures are gone through in the recorded order: ``done`` of a wait, a program's own, all tasks."""

from __future__ import annotations

import pytest

from tests.support.asyncio_programs import MAIN, PRELUDE
from tests.support.replay_lab import ReplayLab

PROGRAMS = {
    "done_of_a_wait": """
async def main():
    seen = []
    left = [asyncio.create_task(ask(n)) for n in range(8)]
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for t in done:
            seen.append(t.result()["name"]); note(list(seen))
    done, _ = await asyncio.wait([asyncio.create_task(ask(n, 0.001)) for n in range(12)])
    for t in done:
        seen.append(await name_of(t.result()["name"], 0.001))
    return note(seen)
""",
    "all_tasks_and_a_group": """
async def main():
    seen = []
    async def one(n):
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            seen.append(n); note(["cancelled", n]); raise
    tasks = [asyncio.create_task(one(n)) for n in range(7)]
    await name_of("x")
    for t in asyncio.all_tasks():
        if t is not asyncio.current_task():
            t.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async def fail():
        await name_of("y"); raise ValueError
    try:
        async with asyncio.TaskGroup() as group:
            for n in range(8): group.create_task(one(n))
            group.create_task(fail())
    except* ValueError: pass
    return note(seen)
""",
    "own_sets": """
async def main():
    seen, tasks = [], set()
    for n in range(9):
        tasks.add(asyncio.create_task(name_of(n)))
        if len(tasks) >= 4:
            seen.append(await tasks.pop())
    for t in tasks | {asyncio.create_task(name_of(n)) for n in range(20, 30)}:
        seen.append(await t)
    return note(seen)
""",
    "first_exception": """
async def main():
    seen = []
    async def one(n):
        await name_of(n)
        if n == 3: raise ValueError(n)
        return n
    for turn in range(4):
        ts = {asyncio.create_task(one(n)) for n in range(6)}
        done, left = await asyncio.wait(ts, return_when=asyncio.FIRST_EXCEPTION)
        seen.append([[t.exception() is None and t.result() for t in done], len(left)]); note(list(seen))
        for t in left: seen.append(await asyncio.gather(t, return_exceptions=True))
    return note([str(s) for s in seen])
""",
    "left_to_the_end_of_the_loop": """
async def main():
    async def one(n):
        try:
            await asyncio.sleep(5)
        finally:
            note(["end", n])
    tasks = [asyncio.create_task(one(n)) for n in range(9)]
    return await name_of("x")
""",
    "futures": """
async def main():
    loop, seen = asyncio.get_running_loop(), []
    async def fill(f, n):
        f.set_result(await name_of(n))
    left = {loop.create_future() for _ in range(6)}
    keep = [asyncio.create_task(fill(f, n)) for n, f in enumerate(left)]
    left |= {asyncio.gather(name_of([k, 1]), name_of([k, 2])) for k in range(4)}
    left |= {asyncio.shield(asyncio.create_task(name_of(n))) for n in range(10, 14)}
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for f in done: seen.append(f.result()); note(list(seen))
    return note(seen)
""",
    "futures_of_an_executor": """
async def main():
    loop, seen = asyncio.get_running_loop(), []
    left = {loop.run_in_executor(None, sync, n) for n in range(9)}
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for f in done: seen.append(f.result()); note(list(seen))
    return note(seen)
""",
    "futures_of_a_pool": """
from concurrent.futures import ThreadPoolExecutor
async def main():
    seen = []
    with ThreadPoolExecutor(3) as pool:
        for f in {pool.submit(sync, n) for n in range(9)}:
            seen.append(f.result()); note(list(seen))
    return note(seen)
""",
    "eager_tasks": """
async def main():
    seen = []
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    async def quick(n):
        seen.append(["q", n]); return n
    left = {asyncio.create_task(c) for n in range(6) for c in (name_of(n), quick(n))}
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        seen.append([t.result() for t in done]); note(list(seen))
    return note(seen)
""",
    "own_tasks": """
class Own(asyncio.Task):
    pass

async def main():
    loop, seen = asyncio.get_running_loop(), []
    loop.set_task_factory(lambda loop, coro, **more: Own(coro, loop=loop, **more))
    for t in {asyncio.create_task(name_of(n)) for n in range(9)}:
        assert isinstance(t, Own) and isinstance(t, asyncio.Task)
        seen.append(await t); note(list(seen))
    loop.set_task_factory(None)
    t = asyncio.create_task(name_of(1))
    note([type(t) is asyncio.Task, type(t).__name__, repr(t)[:14], t == t, hash(t) == hash(t), t.get_name()])
    return note(seen)
""",
}
ASYNC_AGENT = """
@agentdbg.agent
async def outer():
    seen = []
    tasks = {asyncio.create_task(name_of(n)) for n in range(9)} | {asyncio.current_task()}
    for t in tasks:
        if t is not asyncio.current_task():
            seen.append(await t); note(list(seen))
    return seen

if __name__ == "__main__":
    asyncio.run(outer())
"""
QUICK = ("done_of_a_wait", "all_tasks_and_a_group")


def check_again(lab: ReplayLab, program: str, times: int) -> None:
    lab.record(program)
    for _ in range(times):
        outcome = lab.replay()
        assert outcome.verdict == "identical", (outcome.reason, outcome.notes)


@pytest.mark.parametrize("name", QUICK)
def test_sets_are_gone_through_in_the_recorded_order(lab: ReplayLab, name: str) -> None:
    check_again(lab, PRELUDE + PROGRAMS[name] + MAIN, 1)


@pytest.mark.wide
@pytest.mark.parametrize("name", PROGRAMS)
def test_sets_are_gone_through_in_the_recorded_order_ten_times(lab: ReplayLab, name: str) -> None:
    check_again(lab, PRELUDE + PROGRAMS[name] + MAIN, 10)


@pytest.mark.wide
def test_the_task_of_the_agent_itself_stands_where_it_stood(lab: ReplayLab) -> None:
    check_again(lab, PRELUDE + ASYNC_AGENT, 10)


@pytest.mark.wide
@pytest.mark.parametrize("name", ["done_of_a_wait", "own_sets"])
def test_another_order_diverges(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + PROGRAMS[name] + MAIN)
    before, after = ("for t in done:", "for t in reversed(list(done)):")
    if name == "own_sets":
        before, after = ("await tasks.pop()", "await tasks.pop() * 2")
    assert before in PROGRAMS[name]
    lab.write(PRELUDE + PROGRAMS[name].replace(before, after) + MAIN)
    assert lab.replay().verdict == "diverged"
