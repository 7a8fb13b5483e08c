"""What threads hand to each other goes on as without a recorder, however the program has come to it."""

from __future__ import annotations

from pathlib import Path

from tests.support.recorded import run

HEAD = """
import asyncio, atexit, concurrent.futures as cf, copy, gc, pickle, queue, signal, threading, weakref
import _thread
from unittest import mock
import agentdbg

@agentdbg.tool(effect="read")
def look(n=0):
    return n

def begin():
    t = threading.Thread(target=look)
    t.start()
    t.join()
"""

OUTSIDE = """
class Closed(threading.Event):
    def __getattribute__(self, name):
        if name == "__dict__":
            raise RuntimeError("nobody looks in here")
        return super().__getattribute__(name)

class Odd:
    def __call__(self):
        found.append("odd")
    def __getattr__(self, name):
        raise RuntimeError("nobody asks")

@agentdbg.agent
def desk():
    begin()
    async def main():
        loop = asyncio.get_running_loop()
        def other():
            loop.call_soon_threadsafe(Odd())
            loop.set_debug(True)
            try:
                loop.call_soon_threadsafe(main)
            except TypeError:
                found.append("no coroutine functions")
        await asyncio.to_thread(other)
        loop.set_debug(False)
        await asyncio.sleep(0)
    asyncio.run(main())

found = []
desk()
event, items, done = Closed(), queue.Queue(), cf.Future()
for give in (lambda: 0, event.set, items.put, done.set_result):  # with no code of the program's around it
    _thread.start_new_thread(give, (7,) if give in (items.put, done.set_result) else ())
print(event.wait(10), items.get(timeout=10), done.result(10), sorted(found))
last, late = threading.Event(), queue.Queue()
atexit.register(lambda: print(last.is_set(), late.qsize()))
atexit.register(last.set)
atexit.register(late.put, 1)
"""


def test_what_is_called_without_any_code_around_it(tmp_path: Path) -> None:
    done = run(tmp_path, HEAD + OUTSIDE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "True 7 7 ['no coroutine functions', 'odd']\nTrue 1\n"


PATCHED = """
class Given:
    def __get__(self, owner, kind=None):
        return lambda item: put(owner, item)

class Copied(cf.Future):
    def __getstate__(self):
        return {name: each for name, each in vars(self).items() if name != "_condition"}
    def __setstate__(self, state):
        vars(self).update(state, _condition=threading.Condition())

@agentdbg.agent
def desk():
    with mock.patch.object(queue.Queue, "get", return_value=42) as get:
        begin()
        items = queue.Queue()
        items.put(1)
        found = [items.get(timeout=3), get.call_args == mock.call(timeout=3), items.empty(), items.get()]
    with cf.ThreadPoolExecutor(1) as pool, mock.patch.object(cf.thread._base, "Future", Copied):
        future = pool.submit(look, 5)
        future.result()
    found += [each.result() for each in (pickle.loads(pickle.dumps(future)), copy.deepcopy(future))]
    kept.append(future)
    return found

put, kept = queue.Queue.put, []
queue.Queue.put, queue.Queue.empty = Given(), staticmethod(lambda: "static")
print(desk())
from agentdbg.recording.run import RunRecording
[each.join() for each in threading.enumerate() if each.name == "agentdbg-environment"]
gc.collect()
print(len(RunRecording._live))
"""


def test_methods_that_are_somebody_elses_and_futures_that_are_kept_or_copied(tmp_path: Path) -> None:
    done = run(tmp_path, HEAD + PATCHED)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[42, True, 'static', 42, 5, 5]\n0\n"


STRUCK = """
class Late(Exception):
    pass

def ring(*_):
    if armed:
        raise Late

@agentdbg.agent
def desk():
    begin()
    struck = 0
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    while struck < 200:
        try:
            armed.append(1)
            for _ in range(100):
                mine, event = queue.Queue(), threading.Event()
                mine.put(1), mine.get(), event.set(), event.wait(), cf.Future().done()
        except Late:
            struck += 1
        armed.clear()
        if handoffs.local.busy or handoffs.local.within or handoffs.local.acting:
            return "left behind"
    signal.setitimer(signal.ITIMER_REAL, 0)
    return struck

from agentdbg.recording import handoffs
armed = []
print(desk())
"""


def test_signals_in_the_middle_of_it(tmp_path: Path) -> None:
    done = run(tmp_path, HEAD + STRUCK, timeout=50)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
