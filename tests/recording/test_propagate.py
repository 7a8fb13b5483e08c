"""Threads, pools and tasks keep the run they were started in, each in its own lane, and nothing else of its context."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from agentdbg.model.records import RunStatus
from tests.support.recorded import only_run, run, runs

HEAD = """
import _thread, asyncio, contextvars, functools, threading, time
from concurrent.futures import ThreadPoolExecutor
import agentdbg

@agentdbg.tool(effect="read")
def look(n):
    return n, agentdbg.run_id()

@agentdbg.tool(effect="read")
async def look_later(n):
    await asyncio.sleep(0.001)
    return n
"""


def lanes_of(folder: Path, name: str = "look") -> Counter[str]:
    found = only_run(folder / "store")
    root = found.steps[0]
    steps = [step for step in found.steps if step.name == name]
    assert {step.parent for step in steps} == {root.id}
    return Counter(step.lane for step in steps)


def test_threads_of_every_kind(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        HEAD
        + """
class Own(threading.Thread):
    def run(self):
        look("own")

class Tidy(threading.Thread):
    pass

@agentdbg.agent
def desk():
    threads = [threading.Thread(target=look, args=("plain",)), Own(), Tidy(target=look, kwargs={"n": "tidy"}),
               threading.Timer(0, look, ["timer"])]
    raw = _thread.allocate_lock()
    raw.acquire()
    _thread.start_new_thread(lambda: (look("raw"), raw.release()), ())
    raw.acquire()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        threads[0].start()
    except RuntimeError as error:
        print(error)
    look("root")
    return [vars(thread).get("run") for thread in threads]

print(desk())
""",
    )
    assert done.stdout == "threads can only be started once\n[None, None, None, None]\n"
    assert lanes_of(tmp_path) == dict.fromkeys(("0", "0.0", "0.1", "0.2", "0.3", "0.4"), 1)


def test_pools_older_than_the_run_and_workers_that_outlive_it(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        HEAD
        + """
from multiprocessing.pool import ThreadPool
old = ThreadPoolExecutor(2)
old.submit(int).result()
lazy = ThreadPoolExecutor(1)
crowd = None

@agentdbg.agent
def desk(n):
    global crowd
    if crowd is None:
        crowd = ThreadPool(1)
    here = agentdbg.run_id()
    found = [old.submit(look, n).result()[1], *(r[1] for r in old.map(look, [n, n])), lazy.submit(look, n).result()[1]]
    found += [crowd.apply(look, (n,))[1], *(r[1] for r in crowd.map(look, [n])), *(r[1] for r in crowd.imap(look, [n]))]
    found += [crowd.apply_async(look, (n,)).get()[1], *(r[1] for r in crowd.starmap(look, [(n,)]))]
    return set(found) == {here}

print(desk(1), desk(2))
print(lazy.submit(agentdbg.run_id).result(), old.submit(agentdbg.run_id).result(), crowd.apply(agentdbg.run_id))
crowd.terminate()
""",
    )
    assert (done.stdout, done.stderr) == ("True True\nNone None None\n", "")
    for found in runs(tmp_path / "store"):
        assert Counter(step.name for step in found.steps) == {"desk": 1, "look": 9}
        assert found.status is RunStatus.OK


def test_executors_and_threads_of_asyncio_have_lanes_of_their_own(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        HEAD
        + """
mine = contextvars.ContextVar("mine", default="unset")

@agentdbg.agent
async def desk():
    mine.set("root")
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    pool = ThreadPoolExecutor(1)
    await asyncio.gather(
        asyncio.to_thread(look, 1),
        asyncio.to_thread(look, 2),
        loop.run_in_executor(None, look, 3),
        loop.run_in_executor(None, functools.partial(look, n=4)),
        asyncio.wrap_future(pool.submit(context.run, look, 5)),
        asyncio.wrap_future(pool.submit(functools.partial(context.run, look), 6)),
    )
    inside = await asyncio.to_thread(mine.get)
    without = await loop.run_in_executor(None, mine.get)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(mine.get()))
    thread.start()
    thread.join()
    return inside, without, seen, pool.submit(mine.get).result()

print(asyncio.run(desk()))
""",
    )
    assert (done.stdout, done.stderr) == ("('root', 'unset', ['unset'], 'unset')\n", "")
    assert sorted(lanes_of(tmp_path).values()) == [1] * 6


def test_tasks_gather_and_task_groups(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        HEAD
        + """
class Factory:
    def __call__(self, loop, coro):
        return asyncio.Task(coro, loop=loop)

async def each(n):
    await look_later(n)
    await look_later(n + 100)

@agentdbg.agent
async def desk():
    await asyncio.gather(each(1), each(2))
    async with asyncio.TaskGroup() as group:
        group.create_task(each(3))
        group.create_task(each(4), name="named")
    task = asyncio.ensure_future(each(5))
    await asyncio.wait([task, asyncio.create_task(each(6))], return_when=asyncio.FIRST_COMPLETED)
    asyncio.get_running_loop().set_task_factory(Factory())
    await asyncio.create_task(each(7))
    await asyncio.wait_for(each(8), 5)
    return agentdbg.recording.scope.current().lane.path

import agentdbg.recording.scope
print(asyncio.run(desk()))
""",
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
    found = lanes_of(tmp_path, "look_later")
    assert sum(found.values()) >= 14
    assert max(found.values()) == 2


def test_background_work_that_outlives_the_agent_stays_in_its_run(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        HEAD
        + """
async def later(n):
    await asyncio.sleep(0.05)
    await look_later(n)

tasks = []

@agentdbg.agent
async def desk(n):
    tasks.append(asyncio.create_task(later(n)))
    threading.Timer(0.05, look, [n]).start()
    return n

async def main():
    await desk(1)
    await desk(2)
    await asyncio.gather(*tasks)

asyncio.run(main())
""",
    )
    assert (done.returncode, done.stderr) == (0, "")
    for found in runs(tmp_path / "store"):
        n = found.arguments(found.named("desk"))["n"]
        assert found.status is RunStatus.OK
        assert found.arguments(found.named("look_later")) == {"n": n} == found.arguments(found.named("look"))
        assert found.source.summary().steps == 3


def test_modules_loaded_after_the_first_call_are_covered(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import agentdbg

        @agentdbg.agent
        def desk():
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor(1) as pool:
                pool.submit(agentdbg.checkpoint, "in pool", {}).result()
            import asyncio

            async def main():
                await asyncio.gather(note("a"), note("b"))

            async def note(name):
                agentdbg.checkpoint(name, {})

            asyncio.run(main())

        desk()
        """,
    )
    assert done.stderr == ""
    found = only_run(tmp_path / "store")
    assert [step.name for step in found.steps] == ["desk", "in pool", "a", "b"]
    assert len({step.lane for step in found.steps}) == 4


AS_COMPLETED = """
import asyncio
from asyncio import as_completed
import agentdbg

@agentdbg.tool(effect="read")
async def look(n):
    await asyncio.sleep(0)
    return n

@agentdbg.agent
async def desk():
    found = [await each for each in as_completed([look(n) for n in range(40)], timeout=20)]
    found += [await each for each in asyncio.as_completed(tuple(look(n) for n in range(40, 80)))]
    for wrong in (lambda: as_completed(3), lambda: as_completed([3]), lambda: as_completed(n for n in "a")):
        try:
            list(wrong())
        except Exception as error:
            print(type(error).__name__)
    return sorted(found)

print(asyncio.run(desk()) == list(range(80)))
"""


def test_as_completed_gives_lanes_in_the_order_it_was_given(tmp_path: Path) -> None:
    recorded, plain = run(tmp_path, AS_COMPLETED), run(tmp_path, AS_COMPLETED, env={"AGENTDBG": "off"})
    assert (recorded.stdout, recorded.stderr) == (plain.stdout, "")
    found = only_run(tmp_path / "store")
    lanes = {found.arguments(step)["n"]: int(step.lane.split(".")[1]) for step in found.steps if step.name == "look"}
    assert [lanes[n] for n in range(80)] == sorted(lanes.values())
