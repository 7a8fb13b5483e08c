"""Threads hand things to each other in the recorded order: futures, queues, events, what they give to event loops."""

from __future__ import annotations

import json

import pytest

from agentdbg.replay.verdict import HANDOFFS_LOST, ORDER_LOST
from agentdbg.store.journal import encode_record
from tests.support.replay_lab import ReplayLab

PRELUDE = """\
import asyncio, concurrent.futures, contextlib, os, random, threading, time, queue
from concurrent.futures import ThreadPoolExecutor, as_completed, wait, FIRST_COMPLETED
import agentdbg

WORLD = random.SystemRandom()

@agentdbg.tool(effect="read")
def ask(name, seconds=0.0):
    time.sleep(seconds if seconds >= 0 else -seconds * WORLD.random())
    return {"name": name, "nonce": WORLD.random()}

@agentdbg.tool(effect="read")
def same_time(name, at):
    time.sleep(max(0.0, at - time.time()))
    return {"name": name, "nonce": WORLD.random()}

@agentdbg.tool(effect="read")
async def ask_async(name, seconds=0.0):
    await asyncio.sleep(seconds if seconds >= 0 else -seconds * WORLD.random())
    return {"name": name, "nonce": WORLD.random()}

def work(n=20000):
    return sum(i * i for i in range(n))

def soon():
    return round(time.time() + 0.02, 3)

"""
MAIN = """
if __name__ == "__main__":
    result = run()
    print(asyncio.run(result) if asyncio.iscoroutine(result) else result)
"""
AGENTS = {
    "as_completed_with_work": """
@agentdbg.agent
def run():
    seen = []
    def one(i, at):
        found = same_time(i, at)
        work(5000 * (4 - i))
        return found
    with ThreadPoolExecutor(4) as pool:
        for turn in range(6):
            at = soon()
            futures = [pool.submit(one, i, at) for i in range(4)]
            for done in as_completed(futures):
                seen.append((done.result()["name"], sum(f.done() for f in futures)))
            agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "first_completed_cancels": """
@agentdbg.agent
def run():
    seen = []
    for turn in range(6):
        at = soon()
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(same_time, i, at) for i in range(6)]
            done, left = wait(futures, return_when=FIRST_COMPLETED)
            seen.append([f.result()["name"] for f in done])
            seen.append([f.cancel() for f in futures])
        agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "workers_on_a_queue": """
@agentdbg.agent
def run():
    tasks, results = queue.Queue(), queue.Queue()
    for i in range(20): tasks.put(i)
    def worker(n):
        while True:
            try:
                item = tasks.get_nowait()
            except queue.Empty:
                return
            results.put((n, ask(item, -0.004)["name"]))
    threads = [threading.Thread(target=worker, args=(n,)) for n in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
    seen = [results.get() for _ in range(20)]
    agentdbg.checkpoint("seen", seen)
    return seen
""",
    "poll_loops": """
@agentdbg.agent
def run():
    seen = []
    with ThreadPoolExecutor(3) as pool:
        for turn in range(3):
            f, rounds = pool.submit(ask, turn, 0.05), 0
            while not f.done():
                time.sleep(0.01); rounds += 1
            seen.append(rounds)
            stop = threading.Event()
            def later():
                ask("e", 0.03); stop.set()
            t = threading.Thread(target=later); t.start()
            waits = 0
            while not stop.wait(0.007): waits += 1
            t.join()
            seen.append(waits)
            q = queue.Queue()
            t = threading.Thread(target=lambda: q.put(ask("q", 0.04))); t.start()
            misses = 0
            while True:
                try:
                    q.get(timeout=0.009); break
                except queue.Empty:
                    misses += 1
            alive = 0
            while t.is_alive(): alive += 0
            seen.append(misses)
            try:
                pool.submit(ask, "slow", 0.05).result(timeout=0.01)
            except concurrent.futures.TimeoutError:
                seen.append("late")
            agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "shared_list_at_once": """
@agentdbg.agent
def run():
    seen, at = [], soon()
    for turn in range(6):
        at = soon()
        def one(i):
            seen.append(same_time(i, at)["name"])
        threads = [threading.Thread(target=one, args=(i,)) for i in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "as_completed_at_once": """
@agentdbg.agent
def run():
    seen = []
    with ThreadPoolExecutor(4) as pool:
        for turn in range(6):
            at = soon()
            for done in as_completed([pool.submit(same_time, i, at) for i in range(4)]):
                seen.append(done.result()["name"])
            agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "first_completed_loop": """
@agentdbg.agent
def run():
    seen = []
    with ThreadPoolExecutor(4) as pool:
        for turn in range(4):
            at = soon()
            left = {pool.submit(same_time, i, at) for i in range(5)}
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                seen.append([f.result()["name"] for f in done])
            agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "sentinels_and_join": """
@agentdbg.agent
def run():
    tasks, seen = queue.Queue(), []
    lock = threading.Lock()
    def worker(n):
        while (item := tasks.get()) is not None:
            found = ask(item, -0.003)
            with lock:
                seen.append((n, found["name"]))
            tasks.task_done()
        tasks.task_done()
    threads = [threading.Thread(target=worker, args=(n,), daemon=True) for n in range(3)]
    for t in threads: t.start()
    for i in range(15):
        tasks.put(i)
        if i % 4 == 3: ask(f"main {i}", 0.002)
    for _ in threads: tasks.put(None)
    tasks.join()
    for t in threads: t.join()
    agentdbg.checkpoint("seen", seen)
    return seen
""",
    "daemon_workers_stay": """
@agentdbg.agent
def run():
    tasks, results = queue.Queue(), queue.Queue()
    def worker(n):
        while True:
            item = tasks.get()
            results.put((n, ask(item, -0.003)["name"]))
    for n in range(3): threading.Thread(target=worker, args=(n,), daemon=True).start()
    for i in range(10): tasks.put(i)
    seen = [results.get() for _ in range(10)]
    agentdbg.checkpoint("seen", seen)
    return seen
""",
    "producer_consumer": """
@agentdbg.agent
def run():
    pipe, seen = queue.Queue(2), []
    def produce(n):
        for i in range(6):
            pipe.put((n, ask(f"{n}.{i}", -0.002)["name"]))
        pipe.put(None)
    threads = [threading.Thread(target=produce, args=(n,)) for n in range(3)]
    for t in threads: t.start()
    ended = 0
    while ended < 3:
        item = pipe.get()
        if item is None:
            ended += 1
        else:
            seen.append(item)
            ask(f"use {item}", -0.001)
    agentdbg.checkpoint("seen", seen)
    return seen
""",
    "long_waits": """
@agentdbg.agent
def run():
    seen = []
    never, q = threading.Event(), queue.Queue()
    t = threading.Thread(target=lambda: seen.append(ask("a", 0.01)["name"])); t.start()
    seen.append(never.wait(1.5))
    try:
        q.get(timeout=1.5)
    except queue.Empty:
        seen.append("empty")
    t.join()
    agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "pool_map": """
@agentdbg.agent
def run():
    seen = []
    def one(i):
        seen.append(("in", i)); found = ask(i, -0.003); seen.append(("out", i)); return found["name"]
    with ThreadPoolExecutor(3) as pool:
        for name in pool.map(one, range(12)):
            seen.append(name)
    agentdbg.checkpoint("seen", sorted(map(str, seen)))
    return len(seen)
""",
    "to_thread_gather": """
@agentdbg.agent
async def run():
    seen = []
    async def one(i, at):
        found = await asyncio.to_thread(same_time, i, at)
        seen.append(found["name"])
        if i % 2:
            seen.append((await ask_async(f"then {i}", 0.001))["name"])
    for turn in range(5):
        at = soon()
        await asyncio.gather(*(one(i, at) for i in range(4)))
        agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "to_thread_while_the_loop_is_busy": """
@agentdbg.agent
async def run():
    seen = []
    async def a():
        await asyncio.to_thread(ask, "a", 0.01)
        seen.append("a")
        time.sleep(0.05)
    def between():
        ask("b", 0.03)
        time.sleep(0.04)
    async def b():
        await asyncio.to_thread(between)
        seen.append("b")
    async def c():
        await ask_async("c", 0.02)
        seen.append("c")
        time.sleep(0.03)
    for turn in range(3):
        await asyncio.gather(a(), b(), c())
        agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "semaphore": """
@agentdbg.agent
def run():
    seen, gate = [], threading.Semaphore(2)
    def one(i):
        with gate:
            seen.append(i)
            ask("same", -0.002)
            seen.append(-i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for t in threads: t.start()
    for t in threads: t.join()
    agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "run_coroutine_threadsafe": """
@agentdbg.agent
def run():
    loop, seen = asyncio.new_event_loop(), []
    t = threading.Thread(target=loop.run_forever, daemon=True); t.start()
    async def one(i):
        found = await ask_async(i, -0.003)
        seen.append(found["name"])
        return found
    for turn in range(3):
        futures = [asyncio.run_coroutine_threadsafe(one(i), loop) for i in range(4)]
        seen.append([f.result()["name"] for f in futures])
        for f in as_completed([asyncio.run_coroutine_threadsafe(one(10 + i), loop) for i in range(4)]):
            seen.append(f.result()["name"])
        agentdbg.checkpoint("seen", list(seen))
    loop.call_soon_threadsafe(loop.stop)
    t.join()
    return seen
""",
    "callbacks": """
@agentdbg.agent
def run():
    seen, all_done = [], threading.Event()
    with ThreadPoolExecutor(4) as pool:
        for turn in range(5):
            at, all_done = soon(), threading.Event()
            def note(f, all_done=all_done):
                seen.append(f.result()["name"])
                if len(seen) % 4 == 0: all_done.set()
            for i in range(4): pool.submit(same_time, i, at).add_done_callback(note)
            all_done.wait(10)
            agentdbg.checkpoint("seen", list(seen))
    return seen
""",
    "same_prompt_threads": """
@agentdbg.agent
def run():
    def one(i):
        found = ask("same", -0.002)
        ask(found["nonce"])
        return found
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, range(4)))
""",
}
QUICK = (
    "as_completed_with_work",
    "first_completed_cancels",
    "workers_on_a_queue",
    "poll_loops",
    "to_thread_gather",
    "to_thread_while_the_loop_is_busy",
)


def check_identical(lab: ReplayLab) -> None:
    outcome = lab.replay()
    assert outcome.verdict == "identical", (outcome.reason, outcome.notes, outcome.log)
    assert not [note for note in outcome.notes if note.startswith((HANDOFFS_LOST, ORDER_LOST))]


@pytest.mark.parametrize("name", QUICK)
def test_threads_hand_over_in_the_recorded_order(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + AGENTS[name] + MAIN)
    check_identical(lab)


@pytest.mark.wide
@pytest.mark.parametrize("name", AGENTS)
def test_fifty_replays_hand_over_in_the_recorded_order(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + AGENTS[name] + MAIN)
    for _ in range(50):
        check_identical(lab)


@pytest.mark.wide
@pytest.mark.parametrize("name", AGENTS)
def test_ten_records_hand_over_in_their_order(lab: ReplayLab, name: str) -> None:
    lab.write(PRELUDE + AGENTS[name] + MAIN)
    for n in range(1, 11):
        lab.record()
        outcome = lab.replay(f"run-{n}")
        assert outcome.verdict == "identical", (outcome.reason, outcome.notes, outcome.log)


WORKERS = """
@agentdbg.agent
def run():
    tasks, results, seen = queue.Queue(), queue.Queue(), []
    for i in range(20): tasks.put(i)
    def worker(n):
        while True:
            try:
                item = tasks.get_nowait()
            except queue.Empty:
                return
            results.put((n, ask(item, -0.004)["name"]))
    threads = [threading.Thread(target=worker, args=(n,)) for n in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
    while not results.empty():
        seen.append(results.get())
    agentdbg.checkpoint("seen", seen)
    return seen
"""
CHANGES = {
    "another_item": ("tasks.put(i)", "tasks.put(i + (i == 7))"),
    "one_item_more": ("range(20): tasks.put", "range(21): tasks.put"),
    "one_item_less": ("range(20): tasks.put", "range(19): tasks.put"),
    "another_order": ("range(20): tasks.put", "reversed(range(20)): tasks.put"),
    "one_worker_less": ("for n in range(3)]", "for n in range(2)]"),
    "results_turned_round": ('"seen", seen)', '"seen", seen[::-1])'),
}


@pytest.mark.parametrize(
    "name", [*CHANGES][:2] + [pytest.param(name, marks=pytest.mark.wide) for name in [*CHANGES][2:]]
)
def test_a_program_that_changed_diverges(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + WORKERS + MAIN)
    before, after = CHANGES[name]
    assert before in WORKERS
    lab.write(PRELUDE + WORKERS.replace(before, after) + MAIN)
    outcome = lab.replay()
    assert outcome.verdict == "diverged", outcome.reason


RESULTS_BY_LOCK = """
@agentdbg.agent
def run():
    pool, seen = ThreadPoolExecutor(3), []
    futures = [pool.submit(ask, n, -0.002) for n in range(6)]
    return len([future.result() for future in futures])
"""


def test_a_record_without_hand_offs_is_replayed_as_ever(lab: ReplayLab) -> None:
    lab.record(PRELUDE + RESULTS_BY_LOCK + MAIN)
    noted = 0
    for path in (lab.store / "runs" / "run-1" / "events").iterdir():
        events = [json.loads(line) for line in path.read_text().splitlines() if line]
        noted += sum("handoffs" in event for event in events)
        without = [{k: v for k, v in event.items() if k not in ("handoffs", "_c")} for event in events]
        path.write_bytes(b"".join(map(encode_record, without)))
    assert noted
    check_identical(lab)


@pytest.mark.parametrize(
    "handoffs",
    [
        [["0.0", "get"], ["0.7", "nonsense", {"a": [1]}, -5], [], "x", ["", "returned", "x"], [1, 2, 3, 4, 5, 6]],
        [["0", "waited", [["0.0"], None, "x"]], ["0/arrives", "arrives", [1, 2]], ["", "cut"]],
    ],
)
def test_hand_offs_that_cannot_be_true_only_cost_the_order(lab: ReplayLab, handoffs: object) -> None:
    lab.record(PRELUDE + RESULTS_BY_LOCK + MAIN)
    for path in (lab.store / "runs" / "run-1" / "events").iterdir():
        events = [json.loads(line) for line in path.read_text().splitlines() if line]
        for event in events:
            del event["_c"]
            if event["e"] == "outcome":
                event["handoffs"] = handoffs
        path.write_bytes(b"".join(map(encode_record, events)))
    assert lab.replay().verdict == "identical"
