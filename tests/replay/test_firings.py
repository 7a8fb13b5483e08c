"""Timers fire where they fired among the recorded calls: polls, heartbeats, deadlines, and who races with them."""

from __future__ import annotations

import pytest

from tests.support.asyncio_programs import MAIN, PRELUDE
from tests.support.replay_lab import ReplayLab

PROGRAMS = {
    "poll_done": """
async def main():
    seen = []
    for turn in range(4):
        t, rounds = asyncio.create_task(ask(turn, -0.1)), 0
        while not t.done():
            await asyncio.sleep(0.005); rounds += 1
        seen.append(rounds); note(list(seen))
    return note(seen)
""",
    "poll_many": """
async def main():
    seen, tasks = [], [asyncio.create_task(ask(n, -0.1)) for n in range(5)]
    while tasks:
        for t in [t for t in tasks if t.done()]:
            tasks.remove(t); seen.append(t.result()["name"])
        seen.append(".");
        await asyncio.sleep(0.01)
    return note(seen)
""",
    "heartbeat": """
async def main():
    beats = 0
    async def beat():
        nonlocal beats
        while True:
            await asyncio.sleep(0.007); beats += 1
    b = asyncio.create_task(beat())
    seen = []
    for n in range(6):
        seen.append([await name_of(n), beats])
    b.cancel()
    return note(seen)
""",
    "wait_timeout_split": """
async def main():
    seen = []
    for turn in range(3):
        tasks = [asyncio.create_task(ask(n, -0.06)) for n in range(6)]
        done, left = await asyncio.wait(tasks, timeout=0.03)
        seen.append([t.result()["name"] for t in done])
        note(seen)
        for t in left:
            t.cancel()
        seen.append(len(left))
        note([str(r)[:20] for r in await asyncio.gather(*left, return_exceptions=True)])
    return note(seen)
""",
    "wait_for_before_first_call": """
async def main():
    seen = []
    async def slow(n):
        await asyncio.sleep(0.05 if n % 2 else 0.001)
        return await name_of(n, 0.001)
    for n in range(6):
        try:
            seen.append(await asyncio.wait_for(slow(n), 0.02))
        except asyncio.TimeoutError:
            seen.append("late")
        note(list(seen))
    return note(seen)
""",
    "wait_for_random": """
async def main():
    seen = []
    for n in range(8):
        try:
            seen.append(await asyncio.wait_for(name_of(n, -0.04), 0.02))
        except asyncio.TimeoutError:
            seen.append("late")
        note(list(seen))
    return note(seen)
""",
    "timeout_random_parallel": """
async def main():
    seen = []
    async def one(n):
        try:
            async with asyncio.timeout(0.03):
                await name_of(n, -0.02); await name_of(-n, -0.03)
                seen.append(n)
        except TimeoutError:
            seen.append(["late", n])
    for turn in range(3):
        await asyncio.gather(*(one(n) for n in range(5)))
        note(list(seen))
    return note(seen)
""",
    "queue_bounded_timeout": """
async def main():
    seen, q = [], asyncio.Queue(2)
    async def producer():
        for n in range(8):
            await q.put(await name_of(n, -0.03))
        await q.put(None)
    p = asyncio.create_task(producer())
    while True:
        try:
            n = await asyncio.wait_for(q.get(), 0.015)
        except asyncio.TimeoutError:
            seen.append("idle"); continue
        if n is None: break
        seen.append(n); note(list(seen))
    await p
    return note(seen)
""",
    "queue_get_nowait_poll": """
async def main():
    seen, q = [], asyncio.Queue()
    async def producer(k):
        for n in range(3):
            q.put_nowait(await name_of([k, n], -0.03))
    ps = [asyncio.create_task(producer(k)) for k in range(3)]
    while not (all(p.done() for p in ps) and q.empty()):
        got = []
        while not q.empty(): got.append(q.get_nowait())
        seen.append(got)
        await asyncio.sleep(0.006)
    return note(seen)
""",
    "event_wait_timeout": """
async def main():
    seen = []
    for turn in range(4):
        e = asyncio.Event()
        async def setter():
            await name_of("s", -0.06); e.set()
        t = asyncio.create_task(setter())
        rounds = 0
        while not e.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(e.wait(), 0.01)
            rounds += 1
        seen.append(rounds); note(list(seen))
        await t
    return note(seen)
""",
    "as_completed_timeout": """
async def main():
    seen = []
    for turn in range(3):
        try:
            for c in asyncio.as_completed([name_of(n, -0.05) for n in range(6)], timeout=0.025):
                seen.append(await c); note(list(seen))
        except asyncio.TimeoutError:
            seen.append("late")
    return note(seen)
""",
    "deadline_loop_time": """
async def main():
    loop, seen = asyncio.get_running_loop(), []
    end = loop.time() + 0.1
    ts = [asyncio.create_task(name_of(n, -0.2)) for n in range(6)]
    while (left := end - loop.time()) > 0:
        done, _ = await asyncio.wait(ts, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for t in done:
            ts.remove(t); seen.append(t.result())
        if not ts: break
        note(list(seen))
    for t in ts: t.cancel()
    seen.append(len(ts))
    return note(seen)
""",
    "shield_deadline": """
async def main():
    seen = []
    for turn in range(4):
        t = asyncio.create_task(name_of(turn, -0.05))
        try:
            seen.append(await asyncio.wait_for(asyncio.shield(t), 0.02))
        except asyncio.TimeoutError:
            seen.append("late"); note(list(seen)); seen.append(await t)
    return note(seen)
""",
    "call_later_race": """
async def main():
    loop, seen = asyncio.get_running_loop(), []
    done = loop.create_future()
    for n in range(10): loop.call_later(0.006 * (n + 1), seen.append, n)
    loop.call_later(0.08, done.set_result, None)
    async def one(n):
        seen.append(["a", await name_of(n, -0.06)])
    await asyncio.gather(done, *(one(n) for n in range(4)))
    return note(seen)
""",
    "busy_between": """
def work(n):
    return sum(i * i for i in range(n))
async def main():
    seen = []
    async def one(n):
        for k in range(3):
            found = await name_of([n, k], -0.01)
            work(20000 * (1 + n % 3))
            await asyncio.sleep(0.003)
            seen.append(found)
    async def beat():
        while True:
            await asyncio.sleep(0.004); seen.append("beat"); note(len(seen))
    b = asyncio.create_task(beat())
    await asyncio.gather(*(one(n) for n in range(4)))
    b.cancel()
    return note(seen)
""",
    "anyio_group": """
import anyio
async def main():
    seen = []
    async def one(n):
        try:
            seen.append(await name_of(n, -0.05))
        except anyio.get_cancelled_exc_class():
            seen.append(["c", n]); raise
    for turn in range(3):
        with anyio.move_on_after(0.025) as scope:
            async with anyio.create_task_group() as g:
                for n in range(6): g.start_soon(one, n)
        seen.append(scope.cancelled_caught); note(list(seen))
    return note(seen)
""",
    "retry_backoff_parallel": """
async def main():
    seen = []
    async def one(n):
        for attempt in range(4):
            found = await name_of([n, attempt], -0.005)
            seen.append(found)
            await asyncio.sleep(0.004 * 2 ** attempt)
    await asyncio.gather(*(one(n) for n in range(4)))
    return note(seen)
""",
    "sleeps_then_calls": """
async def main():
    seen = []
    async def one(n):
        for k in range(4):
            await asyncio.sleep(0.01)
            seen.append([n, k])
            await name_of([n, k], -0.012)
    await asyncio.gather(*(one(n) for n in range(4)))
    return note(seen)
""",
    "race_cancel_losers": """
async def main():
    seen = []
    for turn in range(6):
        ts = [asyncio.create_task(name_of([turn, n])) for n in range(4)]
        done, left = await asyncio.wait(ts, return_when=asyncio.FIRST_COMPLETED)
        for t in left: t.cancel()
        seen.append([t.result() for t in done])
        if left:
            d, _ = await asyncio.wait(left)
            seen.append([t.cancelled() for t in d])
        note(list(seen))
    return note(seen)
""",
    "gather_fails_fast": """
async def main():
    seen = []
    async def one(n):
        try:
            await name_of(n)
            if n % 3 == 0: raise ValueError(n)
            seen.append(n)
        except asyncio.CancelledError:
            seen.append(["c", n]); raise
    for turn in range(3):
        ts = [asyncio.create_task(one(n)) for n in range(7)]
        try:
            await asyncio.gather(*ts)
        except ValueError as e:
            seen.append(str(e)); note(list(seen))
        for t in ts: t.cancel()
        await asyncio.wait(ts)
        note(list(seen))
    return note(seen)
""",
    "poll_done_zero": """
async def main():
    seen = []
    for turn in range(3):
        t, rounds = asyncio.create_task(ask(turn, -0.01)), 0
        while not t.done():
            await asyncio.sleep(0); rounds += 1
        seen.append(rounds > 0); note(list(seen))
    return note(seen)
""",
    "background_set_discard": """
async def main():
    seen, tasks = [], set()
    async def one(n):
        seen.append(await name_of(n)); note(list(seen))
    for n in range(8):
        t = asyncio.create_task(one(n)); tasks.add(t); t.add_done_callback(tasks.discard)
    await asyncio.sleep(0.01)
    seen.append(["left", [t.get_name() != "" for t in tasks]])
    for t in list(tasks)[:2]:
        t.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return note(seen)
""",
    "sleep_before_any_call": """
async def main():
    await asyncio.sleep(0.01)
    rounds, t = 0, asyncio.create_task(asyncio.sleep(0.03))
    while not t.done():
        await asyncio.sleep(0.004); rounds += 1
    return rounds
""",
    "loop_in_thread": """
import threading
def worker(seen):
    async def go():
        for n in range(4):
            t = asyncio.create_task(name_of(["w", n], -0.02)); rounds = 0
            while not t.done():
                await asyncio.sleep(0.004); rounds += 1
            seen.append(rounds)
    asyncio.run(go())
async def main():
    a, b = [], []
    t = threading.Thread(target=worker, args=(a,)); t.start()
    for n in range(4):
        k = asyncio.create_task(name_of(["m", n], -0.02)); rounds = 0
        while not k.done():
            await asyncio.sleep(0.004); rounds += 1
        b.append(rounds)
    await asyncio.to_thread(t.join)
    return note([a, b])
""",
    "hedged_requests": """
async def main():
    seen = []
    for turn in range(5):
        a = asyncio.create_task(name_of(["a", turn], -0.05))
        done, _ = await asyncio.wait({a}, timeout=0.02)
        ts = {a}
        if not done:
            ts.add(asyncio.create_task(name_of(["b", turn], -0.03)))
        done, left = await asyncio.wait(ts, return_when=asyncio.FIRST_COMPLETED)
        seen.append([t.result() for t in done])
        for t in left:
            t.cancel()
            with contextlib.suppress(asyncio.CancelledError): await t
        note(list(seen))
    return note(seen)
""",
    "watchdog_restart": """
async def main():
    seen = []
    async def work(k):
        for n in range(3):
            await name_of([k, n], -0.02); beat.set()
    for k in range(3):
        beat = asyncio.Event()
        t = asyncio.create_task(work(k))
        while not t.done():
            beat.clear()
            try:
                await asyncio.wait_for(beat.wait(), 0.012)
                seen.append("beat")
            except asyncio.TimeoutError:
                seen.append("stuck")
                if t.done(): break
                t.cancel()
                await asyncio.gather(t, return_exceptions=True)
        note(list(seen))
    return note(seen)
""",
    "timeout_at_deadline": """
async def main():
    loop, seen = asyncio.get_running_loop(), []
    deadline = loop.time() + 0.06
    for n in range(8):
        try:
            async with asyncio.timeout_at(deadline):
                seen.append(await name_of(n, -0.03))
        except TimeoutError:
            seen.append("late")
    return note(seen)
""",
    "debounce": """
async def main():
    loop, seen, timer = asyncio.get_running_loop(), [], None
    pending = []
    def flush():
        seen.append(list(pending)); pending.clear(); note(list(seen))
    for n in range(10):
        pending.append(await name_of(n, -0.02))
        if timer: timer.cancel()
        timer = loop.call_later(0.01, flush)
    await asyncio.sleep(0.03)
    return note(seen)
""",
    "stream_with_idle_timeout": """
async def main():
    seen = []
    async def stream(k):
        for n in range(4): yield await name_of([k, n], -0.02)
    for k in range(4):
        agen = stream(k)
        try:
            while True:
                seen.append(await asyncio.wait_for(anext(agen), 0.012))
        except (asyncio.TimeoutError, StopAsyncIteration) as e:
            seen.append(type(e).__name__)
        note(list(seen))
    return note(seen)
""",
    "barrier_and_timeout": """
async def main():
    seen = []
    b = asyncio.Barrier(3)
    async def one(n):
        for k in range(3):
            await name_of([n, k], -0.02)
            try:
                i = await asyncio.wait_for(b.wait(), 0.015); seen.append([n, k, i])
            except (asyncio.TimeoutError, asyncio.BrokenBarrierError) as e:
                seen.append([n, type(e).__name__])
                if b.broken: await b.reset()
    await asyncio.gather(*(one(n) for n in range(3)))
    return note(seen)
""",
    "many_timers_one_lane": """
async def main():
    loop, seen = asyncio.get_running_loop(), []
    evs = [asyncio.Event() for _ in range(30)]
    for n, e in enumerate(evs): loop.call_later(0.001 * ((n * 7) % 30), e.set)
    async def w(n):
        await evs[n].wait(); seen.append(n)
        if n % 5 == 0: seen.append(["c", await name_of(n, -0.01)])
    await asyncio.gather(*(w(n) for n in range(30)))
    return note(seen)
""",
    "cancel_in_finally_calls": """
async def main():
    seen = []
    async def one(n):
        try:
            await name_of(n, -0.05)
            seen.append(n)
        finally:
            seen.append(["cleanup", await name_of(["c", n], -0.005)])
    for turn in range(3):
        ts = [asyncio.create_task(one(n)) for n in range(5)]
        await asyncio.sleep(0.02)
        for t in ts: t.cancel()
        await asyncio.gather(*ts, return_exceptions=True)
        note(list(seen))
    return note(seen)
""",
    "set_of_tasks_difference": """
async def main():
    seen, tasks = [], {asyncio.create_task(name_of(n, -0.04)) for n in range(10)}
    while tasks:
        await asyncio.sleep(0.006)
        ready = {t for t in tasks if t.done()}
        tasks -= ready
        seen.append([t.result() for t in ready]); note(list(seen))
        if len(tasks) == 3:
            tasks = frozenset(tasks)
            seen.append([await t for t in tasks]); break
    return note(seen)
""",
    "sync_tool_blocks_loop": """
async def main():
    seen = []
    @agentdbg.tool(effect="read")
    def block(n):
        time.sleep(0.02 * WORLD.random()); return n
    async def beat():
        while True:
            await asyncio.sleep(0.003); seen.append(".")
    b = asyncio.create_task(beat())
    for n in range(5):
        seen.append(block(n)); seen.append(await name_of(n, -0.01))
    b.cancel()
    return note(seen)
""",
}
WITHOUT_TIMERS = {
    "queue_workers": """
async def main():
    seen, q = [], asyncio.Queue()
    async def worker(w):
        while True:
            n = await q.get()
            seen.append([w, await name_of(n)])
            q.task_done()
    for n in range(14): q.put_nowait(n)
    workers = [asyncio.create_task(worker(w)) for w in range(4)]
    await q.join()
    for w in workers: w.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    return note(seen)
""",
    "event_race": """
async def main():
    seen = []
    for turn in range(4):
        e = asyncio.Event()
        async def setter(n):
            await name_of(n); seen.append(["set", n]); e.set()
        async def waiter(n):
            await e.wait(); seen.append(["woke", n]); note(list(seen))
        ts = [asyncio.create_task(c) for c in (waiter(1), setter(2), setter(3), waiter(4))]
        await asyncio.gather(*ts)
    return note(seen)
""",
    "condition": """
async def main():
    seen, items, c = [], [], asyncio.Condition()
    async def consumer(k):
        for _ in range(3):
            async with c:
                await c.wait_for(lambda: items)
                n = items.pop(0)
            seen.append([k, n, await name_of(["c", n], -0.01)])
    async def producer(k):
        for n in range(3):
            found = await name_of([k, n])
            async with c:
                items.append(found); c.notify()
    await asyncio.gather(*(consumer(k) for k in range(3)), *(producer(k) for k in range(3)))
    return note(seen)
""",
    "semaphore": """
async def main():
    seen, s = [], asyncio.Semaphore(2)
    async def one(n):
        async with s:
            seen.append(["in", n]); await name_of(n); seen.append(["out", n])
    await asyncio.gather(*(one(n) for n in range(9)))
    return note(seen)
""",
    "lock": """
async def main():
    seen, l = [], asyncio.Lock()
    async def one(n):
        await name_of(n)
        async with l:
            seen.append(n); await name_of([n], -0.005); note(list(seen))
    await asyncio.gather(*(one(n) for n in range(6)))
    return note(seen)
""",
    "as_completed": """
async def main():
    seen = []
    for turn in range(3):
        for c in asyncio.as_completed([name_of(n) for n in range(6)]):
            seen.append(await c); note(list(seen))
    return note(seen)
""",
    "as_completed_tasks_set": """
async def main():
    seen = []
    tasks = {asyncio.create_task(name_of(n)) for n in range(6)}
    for c in asyncio.as_completed(tasks):
        seen.append(await c); seen.append([t.done() for t in tasks]); note(list(seen))
    return note(seen)
""",
    "as_completed_coro_set": """
async def main():
    seen = []
    for turn in range(2):
        for c in asyncio.as_completed({name_of(n) for n in range(6)}):
            seen.append(await c); note(list(seen))
    return note(seen)
""",
    "async_for_as_completed": """
async def main():
    seen = []
    ts = [asyncio.create_task(name_of(n)) for n in range(6)]
    if sys.version_info >= (3, 13):
        async for t in asyncio.as_completed(ts):
            seen.append([ts.index(t), await t]); note(list(seen))
    return note(seen)
""",
    "gather_return_exceptions": """
async def main():
    seen = []
    async def one(n):
        await name_of(n)
        seen.append(n)
        if n % 3 == 0: raise ValueError(n)
        return n
    found = await asyncio.gather(*(one(n) for n in range(7)), return_exceptions=True)
    return note([seen, [repr(f) for f in found]])
""",
    "abandoned_agen": """
async def main():
    seen = []
    async def stream(k):
        try:
            for n in range(5):
                yield await name_of([k, n], -0.005)
        finally:
            seen.append(["closed", k]); note(list(seen))
    async def use(k):
        async for found in stream(k):
            seen.append(found)
            if found[1] == 2: break
    await asyncio.gather(*(use(k) for k in range(4)))
    await asyncio.sleep(0.01)
    return note(seen)
""",
    "agens_left_to_loop": """
KEEP = []
async def main():
    async def stream(k):
        try:
            for n in range(5):
                yield await name_of([k, n], -0.005)
        finally:
            note(["closed", k])
    for k in range(5):
        agen = stream(k); KEEP.append(agen)
        await agen.__anext__()
    return note("end")
""",
    "to_thread_wait": """
async def main():
    import time
    seen = []
    @agentdbg.tool(effect="read")
    def sync(n):
        time.sleep(0.02 * WORLD.random()); return n
    for turn in range(3):
        left = {asyncio.create_task(asyncio.to_thread(sync, n)) for n in range(5)}
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for f in done: seen.append(f.result())
        note(list(seen))
    return note(seen)
""",
    "mixed_sync_async": """
async def main():
    import time
    seen = []
    @agentdbg.tool(effect="read")
    def sync(n):
        time.sleep(0.02 * WORLD.random()); return n
    async def t(n): seen.append(["t", await asyncio.to_thread(sync, n)])
    async def a(n): seen.append(["a", await name_of(n)])
    for turn in range(3):
        await asyncio.gather(*(f(n) for n in range(4) for f in (t, a)))
        note(list(seen))
    return note(seen)
""",
    "anyio_streams": """
import anyio
async def main():
    seen = []
    send, receive = anyio.create_memory_object_stream(2)
    async def producer(s, k):
        async with s:
            for n in range(3): await s.send(await name_of([k, n]))
    async with anyio.create_task_group() as g:
        async with send:
            for k in range(3): g.start_soon(producer, send.clone(), k)
        async with receive:
            async for found in receive: seen.append(found); note(list(seen))
    return note(seen)
""",
    "callbacks_order": """
async def main():
    seen = []
    ts = [asyncio.create_task(name_of(n)) for n in range(8)]
    for t in ts: t.add_done_callback(lambda t: (seen.append(t.result()), note(list(seen))))
    await asyncio.wait(set(ts))
    return note(seen)
""",
    "nested_groups": """
async def main():
    seen = []
    async def leaf(k, n):
        seen.append(await name_of([k, n]))
    async def branch(k):
        async with asyncio.TaskGroup() as g:
            ts = {g.create_task(leaf(k, n)) for n in range(3)}
        for t in ts: seen.append(t.done())
    async with asyncio.TaskGroup() as g:
        for k in range(3): g.create_task(branch(k))
    return note(seen)
""",
    "worker_pool_refill": """
async def main():
    seen, todo, running = [], list(range(12)), set()
    while todo or running:
        while todo and len(running) < 3:
            running.add(asyncio.create_task(name_of(todo.pop(0))))
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for t in done:
            seen.append(t.result())
            if t.result() % 4 == 0 and t.result():
                todo.append(t.result() * 10 + 1)
        note(list(seen))
    return note(seen)
""",
}
QUICK = ("poll_done", "timeout_random_parallel", "sleep_before_any_call")
CHANGES = {
    "another_period": ("heartbeat", "asyncio.sleep(0.007)", "asyncio.sleep(0.003)"),
    "one_sleep_more": ("poll_done", "rounds += 1", "rounds += 1; await asyncio.sleep(0.001)"),
    "no_sleep": ("retry_backoff_parallel", "await asyncio.sleep(0.004 * 2 ** attempt)", "pass"),
    "another_deadline": ("wait_for_random", "0.02)", "5)"),
    "one_call_less": ("poll_many", "range(5)", "range(4)"),
    "one_call_more": ("call_later_race", "range(4)", "range(5)"),
}


def check_again(lab: ReplayLab, program: str, times: int) -> None:
    lab.record(PRELUDE + program + MAIN)
    for _ in range(times):
        outcome = lab.replay()
        assert outcome.verdict == "identical", (outcome.reason, outcome.notes)
        assert not [note for note in outcome.notes if "order" in note]


@pytest.mark.parametrize("name", QUICK)
def test_timers_fire_where_they_fired(lab: ReplayLab, name: str) -> None:
    check_again(lab, PROGRAMS[name], 1)


@pytest.mark.wide
@pytest.mark.parametrize("name", [*PROGRAMS, *WITHOUT_TIMERS])
def test_timers_fire_where_they_fired_ten_times(lab: ReplayLab, name: str) -> None:
    check_again(lab, {**PROGRAMS, **WITHOUT_TIMERS}[name], 10)


@pytest.mark.wide
@pytest.mark.parametrize("name", CHANGES)
def test_a_program_that_changed_ends_soon_and_never_by_itself_refused(lab: ReplayLab, name: str) -> None:
    program, before, after = CHANGES[name]
    lab.record(PRELUDE + PROGRAMS[program] + MAIN)
    assert before in PROGRAMS[program]
    lab.write(PRELUDE + PROGRAMS[program].replace(before, after) + MAIN)
    outcome = lab.replay()
    allowed = ("diverged",) if name.startswith("one_call") else ("diverged", "identical")
    assert outcome.verdict in allowed, outcome.reason
