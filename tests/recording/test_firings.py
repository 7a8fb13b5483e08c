"""Where timers fire is noted for what the program waits for, and for nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.recorded import only_run, run

HEAD = """
import asyncio, functools
import agentdbg

@agentdbg.tool(effect="read")
async def look(n):
    await asyncio.sleep(0.002)
    return n
"""


def firings(folder: Path) -> list[str]:
    """The lanes whose timers fired, in order."""
    noted: list[Any] = []
    for path in sorted((folder / "store" / "runs").glob("*/events/*")):
        for line in path.read_bytes().splitlines():
            noted.extend(json.loads(line).get("handoffs", ()) if line.strip(b"\0") else ())
    only_run(folder / "store")
    fired = [each for each in noted if each[1] == "fires"]
    return [lane for lane, _, _, *times in fired for _ in range(times[0] if times else 1)]


def test_each_timer_of_the_program_is_noted_in_its_lane(tmp_path: Path) -> None:
    run(
        tmp_path,
        HEAD
        + """
@agentdbg.agent
async def agent():
    await look(1)
    await asyncio.sleep(0.001)
    async def one(n):
        for _ in range(n):
            await asyncio.sleep(0.001 * n)
    await asyncio.gather(one(1), one(2))
    try:
        await asyncio.wait_for(one(100), 0.05)
    except asyncio.TimeoutError:
        pass
    async with asyncio.timeout(30):
        await look(2)

asyncio.run(agent())
""",
    )
    found = firings(tmp_path)
    assert found.count("0/fires") == 2, "the sleep and the deadline, and not the one that was kept to"
    assert (found.count("0.0/fires"), found.count("0.1/fires")) == (1, 2)


def test_timers_outside_a_run_and_inside_a_tool_are_not_noted(tmp_path: Path) -> None:
    run(
        tmp_path,
        HEAD
        + """
@agentdbg.agent
async def agent():
    return await look(1)

async def main():
    await asyncio.sleep(0.001)
    await agent()
    await asyncio.sleep(0.001)

asyncio.run(main())
""",
    )
    assert not firings(tmp_path)


def test_what_a_timer_calls_is_called_as_ever(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        HEAD
        + """
class Weird:
    def __call__(self, *args): print("weird", args)
    def __getattr__(self, name): raise RuntimeError(name)

@agentdbg.agent
async def agent():
    loop, seen = asyncio.get_running_loop(), []
    timer = loop.call_later(0.001, seen.append, 1)
    assert timer.when() > 0 and not timer.cancelled()
    loop.call_later(0.001, functools.partial(seen.append, 2))
    loop.call_later(0.001, Weird(), 3)
    loop.call_later(0.001, seen.append, 4).cancel()
    loop.set_exception_handler(lambda loop, context: seen.append(type(context["exception"]).__name__))
    loop.call_later(0.001, int, "x")
    try:
        loop.call_later(0.001, None)
    except TypeError:
        pass
    await asyncio.sleep(0.01)
    print(sorted(map(str, seen)))

asyncio.run(agent())
""",
    )
    assert "weird (3,)" in done.stdout
    assert "['1', '2', 'ValueError']" in done.stdout or "['1', '2', 'TypeError', 'ValueError']" in done.stdout
