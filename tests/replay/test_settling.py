"""A thread rests when it waits for another or has ended, and not while it computes."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from agentdbg.replay.settling import loop_rests, thread_rests


def test_a_waiting_and_an_ended_thread_rest() -> None:
    ready = threading.Event()
    go_on = threading.Event()

    def wait() -> None:
        ready.set()
        go_on.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    ident = thread.ident
    assert ident is not None
    ready.wait()
    while not thread_rests(ident):
        pass
    go_on.set()
    thread.join()
    assert thread_rests(ident)
    assert not thread_rests(threading.get_ident())


def test_an_idle_pool_worker_rests() -> None:
    with ThreadPoolExecutor(1) as pool:
        ident = pool.submit(threading.get_ident).result()
        while not thread_rests(ident):
            pass


async def test_a_loop_rests_when_nothing_is_left_to_run() -> None:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(0)
    loop.call_soon(lambda: None)
    assert not loop_rests(loop)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert loop_rests(loop)
