"""Steps of a program in an event loop are counted; what runs inside a call, or comes from elsewhere, is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.replay_lab import ReplayLab


@pytest.fixture
def lab(tmp_path: Path) -> ReplayLab:
    return ReplayLab(tmp_path)


PROGRAM = """\
import asyncio
import agentdbg

@agentdbg.tool(effect="read")
async def ask(turns):
    for _ in range(turns):
        await asyncio.sleep(0)
    return turns

@agentdbg.tool(effect="read")
def look(n):
    return n

@agentdbg.agent
async def run():
    await ask(3)
    await ask(INSIDE)
    for _ in range(5):
        await asyncio.sleep(0)
    look(1)
    look(await asyncio.to_thread(str, 2))
    task = asyncio.create_task(ask(2))
    await task
    return look(3)

if __name__ == "__main__":
    asyncio.run(run())
"""


def counted(lab: ReplayLab, address: str) -> list[int]:
    found = []
    for path in (lab.store / "runs" / address / "events").iterdir():
        events = [json.loads(line) for line in path.read_text().splitlines() if line]
        found += [(event["seq"], event["turn"]) for event in events if "turn" in event]
    assert all(len(turn) == (3 if n % 2 == 0 else 5) for n, (_, turn) in enumerate(sorted(found)))
    return [turn[-1] for _, turn in sorted(found)]


def test_turns_inside_a_call_do_not_count(lab: ReplayLab) -> None:
    for address, inside in {"run-1": "0", "run-2": "7"}.items():
        lab.record(PROGRAM.replace("INSIDE", inside))
        assert lab.replay(address).verdict == "identical"
    few, many = counted(lab, "run-1"), counted(lab, "run-2")
    assert few == many
    assert few[:6] == [0, 0, 0, 0, 5, 5], "five turns of the program's own"
    assert few == sorted(few)


HANDLES = """\
import asyncio, sys
import agentdbg

@agentdbg.tool(effect="read")
async def ask():
    await asyncio.sleep(0)

@agentdbg.agent
async def run():
    await ask()
    loop, seen = asyncio.get_running_loop(), []
    def fails():
        raise ValueError("of a callback")
    loop.set_exception_handler(lambda loop, context: seen.append(repr(context["exception"])))
    loop.call_soon(fails)
    handle = loop.call_soon(seen.append, "never")
    handle.cancel()
    await asyncio.sleep(0)
    await ask()
    return seen

async def beside():
    for _ in range(3):
        await asyncio.sleep(0)  # in no run

async def main():
    found, _ = await asyncio.gather(run(), beside())
    print(found)

asyncio.run(main())
"""


def test_what_callbacks_do_stays_as_it_was(lab: ReplayLab) -> None:
    done = lab.record(HANDLES)
    assert "of a callback" in done.stdout
    assert "never" not in done.stdout
    assert done.stderr == ""


def test_loops_that_are_not_asyncios_own_are_not_counted(lab: ReplayLab) -> None:
    pytest.importorskip("uvloop")
    lab.record(PROGRAM.replace("INSIDE", "0").replace("asyncio.run(run())", "import uvloop; uvloop.run(run())"))
    with pytest.raises(AssertionError):
        counted(lab, "run-1")
    assert lab.replay().verdict == "identical"


ODD = """\
import asyncio
import agentdbg

@agentdbg.tool(effect="read")
async def ask():
    await asyncio.sleep(0)

class Odd:
    __module__ = ["no", "name"]

    def __init__(self, seen):
        object.__setattr__(self, "seen", seen)

    def __getattribute__(self, name):
        if name == "seen":
            return object.__getattribute__(self, name)
        raise RuntimeError(f"asked for {name}")

    def __call__(self):
        self.seen.append("called")

    def method(self):
        self.seen.append("method")

@agentdbg.agent
async def run():
    await ask()
    loop, seen = asyncio.get_running_loop(), []
    odd = Odd(seen)
    loop.call_soon(odd)
    loop.call_soon(Odd.method.__get__(odd))
    await asyncio.sleep(0)
    await ask()
    return seen

if __name__ == "__main__":
    print(asyncio.run(run()))
"""


def test_callbacks_that_do_not_like_to_be_asked_are_called(lab: ReplayLab) -> None:
    assert lab.record(ODD).stdout == "['called', 'method']\n"
    assert lab.replay().verdict == "identical"
