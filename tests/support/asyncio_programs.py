"""What programs of tests begin and end with that let recorded calls race in an event loop."""

from __future__ import annotations

PRELUDE = """\
import asyncio, contextlib, random, sys, time
import agentdbg

WORLD = random.SystemRandom()

@agentdbg.tool(effect="read")
async def ask(name, seconds=-0.03):
    await asyncio.sleep(seconds if seconds >= 0 else -seconds * WORLD.random())
    return {"name": name, "nonce": WORLD.random()}

@agentdbg.tool(effect="read")
def sync(name):
    time.sleep(0.02 * WORLD.random())
    return name

@agentdbg.tool(effect="none")
def note(what):
    return what

async def name_of(name, seconds=-0.03):
    return (await ask(name, seconds))["name"]

@agentdbg.agent
def run():
    return asyncio.run(main())

"""
MAIN = """
if __name__ == "__main__":
    print(run())
"""
