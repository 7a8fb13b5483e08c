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
        found += [raised(g.result), repr(raised(g.exception)), raised(g.set_result, 1), g.done(), g.cancelled()]
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
    done = run(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stderr


REQUESTS = """
import asyncio, threading
import agentdbg
from agentdbg.recording import handoffs
from agentdbg.recording.servers.asgi import ServedApp

@agentdbg.tool(effect="read")
def look(what):
    return what

@agentdbg.agent
def desk():
    t = threading.Thread(target=look, args=("x",))
    t.start()
    t.join()

async def app(scope, receive, send):
    await asyncio.gather(*(asyncio.to_thread(look, n) for n in range(3)))
    await asyncio.to_thread(len, "no call at all")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})

async def request(number):
    scope = {"type": "http", "method": "POST", "path": f"/{number}", "query_string": b"", "headers": []}
    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}
    async def send(message):
        pass
    await ServedApp(app, None, app)(scope, receive, send)

async def serve():
    await asyncio.wait_for(asyncio.gather(*map(request, range(20))), 30)

desk()
assert handoffs.state.on
asyncio.run(serve())
"""


def test_requests_go_on_when_another_run_had_threads(tmp_path: Path) -> None:
    done = run(tmp_path, REQUESTS)
    assert (done.returncode, done.stderr) == (0, "")


BROKEN = """
import asyncio, concurrent.futures as cf, queue, threading
import agentdbg
from agentdbg.recording import handoffs

class Odd(threading.Event):
    def wait(self, timeout=None):
        super().wait(timeout)
        return Nothing()

class Nothing:
    def __bool__(self):
        raise LookupError("nobody is to ask")

def fail(*given, **named):
    raise LookupError("the recorder's own")

@agentdbg.agent
def desk():
    t = threading.Thread(target=int)
    t.start()
    t.join()
    handoffs.Notes.add = handoffs.Notes.name = fail
    with cf.ThreadPoolExecutor(2) as pool:
        found = [each.result() for each in cf.as_completed([pool.submit(int), pool.submit(int)])]
        found += [cf.wait([pool.submit(int)]).not_done, queue.Queue().empty(), Odd().wait(0.01)]
    q = queue.Queue()
    q.put(1)
    found.append(q.get())
    return len(found), asyncio.run(asyncio.wait_for(asyncio.to_thread(int), 20))

assert desk() == (6, 0)
"""


def test_a_fault_of_the_recorder_stays_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, BROKEN)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
