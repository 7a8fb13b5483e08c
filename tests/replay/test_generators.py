"""Generators that are tools: their items are served one by one, and their end comes when it came."""

from __future__ import annotations

import pytest

from tests.support.replay_lab import ReplayLab

TOOLS = """\
import agentdbg, asyncio
@agentdbg.tool(effect="read")
def rows(n):
    for i in range(n):
        yield i
    return "end"
@agentdbg.tool(effect="read")
async def arows(n):
    for i in range(n):
        await asyncio.sleep(0.001)
        yield i
@agentdbg.tool(effect="read")
def echo():
    got = yield "a"
    try:
        got2 = yield got
    except ValueError as e:
        got2 = yield repr(e)
    yield got2
@agentdbg.tool(effect="read")
async def aecho():
    got = yield "a"
    try:
        got2 = yield got
    except ValueError as e:
        got2 = yield repr(e)
    yield got2
@agentdbg.tool(effect="read")
def look(n):
    return n * 2
@agentdbg.tool(effect="read")
async def alook(n):
    await asyncio.sleep(0.001)
    return n * 2
"""
MAIN = """
if __name__ == "__main__":
    result = run()
    print(asyncio.run(result) if asyncio.iscoroutine(result) else result)
"""
AGENTS = {
    "calls_between": """
@agentdbg.agent
def run():
    return [look(i) for i in rows(4)]
""",
    "acalls_between": """
@agentdbg.agent
async def run():
    return [await alook(i) async for i in arows(4)]
""",
    "break": """
@agentdbg.agent
def run():
    seen=[]
    for i in rows(5):
        seen.append(look(i))
        if i==2: break
    seen.append(look(9))
    return seen
""",
    "abreak": """
@agentdbg.agent
async def run():
    seen=[]
    async for i in arows(5):
        seen.append(await alook(i))
        if i==2: break
    seen.append(await alook(9))
    return seen
""",
    "aclose": """
@agentdbg.agent
async def run():
    seen=[]
    g=arows(5)
    seen.append(await g.__anext__())
    await g.aclose()
    seen.append(await alook(9))
    return seen
""",
    "kept": """
KEPT=[]
@agentdbg.agent
def run():
    g=rows(5); KEPT.append(g)
    seen=[next(g), look(3), next(g)]
    return seen
""",
    "akept": """
KEPT=[]
@agentdbg.agent
async def run():
    g=arows(5); KEPT.append(g)
    seen=[await g.__anext__(), await alook(3), await g.__anext__()]
    return seen
""",
    "send": """
@agentdbg.agent
def run():
    g=echo()
    return [next(g), g.send(5), g.throw(ValueError("x")), g.send(7), look(1), list(g)]
""",
    "asend": """
@agentdbg.agent
async def run():
    g=aecho()
    first = [await g.__anext__(), await g.asend(5), await g.athrow(ValueError("x")), await g.asend(7)]
    return [*first, await alook(1), [x async for x in g]]
""",
    "cancelled": """
@agentdbg.agent
async def run():
    seen=[]
    async def consume():
        async for i in arows(1000):
            seen.append(i)
            if i == 3: await alook(4)
    t=asyncio.create_task(consume())
    while len(seen)<6: await asyncio.sleep(0.0005)
    t.cancel()
    try: await t
    except asyncio.CancelledError: seen.append("cancelled")
    seen.append(await alook(1))
    return seen[-1]
""",
    "parallel": """
@agentdbg.agent
async def run():
    seen=[]
    async def consume(n):
        async for i in arows(n):
            seen.append((n,await alook(i)))
    await asyncio.gather(consume(3),consume(4),consume(2))
    agentdbg.checkpoint("seen", [list(x) for x in sorted(seen)])
    return len(seen)
""",
}
QUICK = ("calls_between", "abreak", "kept", "asend")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.wide) for name in AGENTS]
)
def test_items_are_served_as_they_came(lab: ReplayLab, name: str) -> None:
    lab.record(TOOLS + AGENTS[name] + MAIN)
    outcome = lab.replay()
    assert outcome.verdict == "identical", (outcome.reason, outcome.notes, outcome.log)
