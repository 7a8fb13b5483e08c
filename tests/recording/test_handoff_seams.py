"""Patched methods do what the originals do: values, errors, subclasses, signatures, event loops."""

from __future__ import annotations

from pathlib import Path

from tests.support.recorded import run

PROGRAM = """
import asyncio, concurrent.futures as cf, gc, inspect, queue, threading, time, weakref
from concurrent.futures import as_completed, wait
import agentdbg

class Mine(queue.Queue):
    def _init(self, maxsize): self.items = []
    def _qsize(self): return len(self.items)
    def _put(self, item): self.items.append(item)
    def _get(self): return self.items.pop()

def raised(call, *args, **kwargs):
    try:
        return call(*args, **kwargs)
    except BaseException as error:
        return type(error).__name__

class Thing:
    pass

def fail():
    raise ValueError("no")

def everything():
    found = []
    for kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue, Mine):
        q = kind(3)
        for item in (2, 3, 1): q.put(item)
        found += [raised(q.put_nowait, 4), raised(q.put, 4, timeout=0.01), raised(q.get, timeout=-1), q.full()]
        found += [q.get(), q.get(), q.get(timeout=1), raised(q.get_nowait), raised(q.get, True, 0.01), q.empty()]
        for _ in range(3): q.task_done()
        found += [q.join(), raised(q.task_done)]
    event, semaphore = threading.Event(), threading.BoundedSemaphore(1)
    found += [event.is_set(), event.wait(0.01), event.set(), event.wait(), event.is_set(), event.clear()]
    with semaphore:
        found += [semaphore.acquire(blocking=False), semaphore.acquire(timeout=0.01)]
    found += [raised(semaphore.release), raised(semaphore.acquire, False, 1)]
    t = threading.Thread(target=event.wait)
    found += [raised(t.join), t.start(), t.join(0.01), t.is_alive(), event.set(), t.join(), t.is_alive()]
    with cf.ThreadPoolExecutor(2) as pool:
        hold = threading.Event()
        f, g, h = pool.submit(hold.wait), pool.submit(fail), pool.submit(Thing)
        found += [raised(f.result, 0.01), raised(f.exception, timeout=0.01), f.done(), f.running(), f.cancel()]
        found += [raised(g.result), raised(g.exception), raised(g.set_result, 1), g.done(), g.cancelled()]
        hold.set()
        found += [f.result(), sorted(map(bool, wait([f, g, h]))), len(list(as_completed({f, g, h})))]
        thing = weakref.ref(h.result())
        called = []
        f.add_done_callback(called.append)
        del h
        gc.collect()
        found += [called == [f], thing() is None]
        found += [raised(list, as_completed([pool.submit(time.sleep, 0.1)], timeout=0.01))]
        found += [wait([pool.submit(time.sleep, 0.1)], timeout=0.01).done]
    async def main():
        loop, came = asyncio.get_running_loop(), asyncio.Event()
        await asyncio.to_thread(loop.call_soon_threadsafe, came.set)
        await came.wait()
        handle = await asyncio.to_thread(loop.call_soon_threadsafe, fail)
        handle.cancel()
        try:
            return await asyncio.to_thread(fail)
        except ValueError as error:
            return str(error), handle.cancelled(), raised(loop.call_soon_threadsafe, came.set).cancel()
    found.append(asyncio.run(main()))
    for method in (queue.Queue.get, threading.Event.wait, cf.Future.result, cf.wait, cf.as_completed):
        found.append((str(inspect.signature(method)), method.__name__, method.__qualname__, method.__module__))
    return found

before = everything()

@agentdbg.agent
def desk():
    t = threading.Thread(target=time.sleep, args=(0,))
    t.start()
    t.join()
    assert hasattr(queue.Queue.get, "__wrapped__")
    return everything()

after = desk()
assert before == after, [pair for pair in zip(before, after) if pair[0] != pair[1]]
"""


def test_patched_methods_do_what_the_originals_do(tmp_path: Path) -> None:
    run(tmp_path, PROGRAM)
