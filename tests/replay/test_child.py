"""What a replay's child process does with programs that reach outside, swallow everything, or will not stop."""

from __future__ import annotations

import pytest

from tests.support.replay_lab import ReplayLab

PROGRAM = """\
import multiprocessing, os, pathlib, socket, sqlite3, subprocess, threading, time, urllib.request
import agentdbg

def effect():
    {effect}

@agentdbg.tool(effect="read")
def look(order):
    return {{"order": order}}

@agentdbg.agent
def run(order):
    found = look(order)
    {call}
    return found

if __name__ == "__main__":
    print(run("o-1"))
"""
EFFECTS = {
    "file": ("open(os.environ['OUTSIDE'] + '/new.txt', 'w').write('x')", "open"),
    "append": ("open(os.environ['OUTSIDE'] + '/log.txt', 'a').write('x')", "open"),
    "path": ("pathlib.Path(os.environ['OUTSIDE'], 'p.txt').write_text('x')", "open"),
    "mkdir": ("place = os.environ['OUTSIDE'] + '/a'; os.mkdir(place); os.rmdir(place)", "os.mkdir"),
    "sqlite": (
        "db = sqlite3.connect(os.environ['OUTSIDE'] + '/db'); db.execute('create table t (x)'); db.close()",
        "sqlite3.connect",
    ),
    "socket": ("socket.create_connection(('127.0.0.1', int(os.environ['PORT']))).close()", "socket.connect"),
    "urllib": (
        "urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/refund', b'x').close()",
        "socket.connect",
    ),
    "remove": (
        "place = os.environ['OUTSIDE'] + '/gone'; os.path.exists(place) or open(place, 'x').close(); os.remove(place); "
        "open(place, 'x').close()",
        "os.remove",
    ),
    "subprocess": (
        "subprocess.run(['touch', os.environ['OUTSIDE'] + '/touched'], check=True)",
        "subprocess.Popen",
    ),
    "spawn": (
        "worker = multiprocessing.get_context('spawn').Process(target=print); worker.start(); worker.join()",
        "fork_exec",
    ),
    "system": ("os.system('touch $OUTSIDE/touched')", "os.system"),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_an_undeclared_write_is_refused_and_named(lab: ReplayLab, name: str) -> None:
    effect, event = EFFECTS[name]
    lab.record(PROGRAM.format(effect=effect, call="effect()"))
    outcome = lab.replay()
    assert outcome.verdict == "refused"
    assert event in outcome.reason
    assert "program.py:5 effect" in outcome.reason
    assert outcome.refused[0]["step"] is not None


HOW = {
    "thread": "worker = threading.Thread(target=effect); worker.start(); worker.join()",
    "bare_except": "exec('try:\\n    effect()\\nexcept:\\n    pass')",
    "retries": "exec('for _ in range(3):\\n    try:\\n        effect()\\n    except BaseException:\\n        pass')",
}


@pytest.mark.parametrize("name", HOW)
def test_a_refusal_counts_wherever_it_is_raised(lab: ReplayLab, name: str) -> None:
    lab.record(PROGRAM.format(effect=EFFECTS["append"][0], call=HOW[name]))
    outcome = lab.replay()
    assert outcome.verdict == "refused"
    assert "program.py:5 effect" in outcome.reason
    assert len(outcome.refused) == 1


PRELUDE = """\
import asyncio, os, time
import agentdbg

def ledger(what):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write(what + "\\n")

@agentdbg.tool(effect="read")
def look(order):
    ledger("look")
    return {"order": order, "prompt": os.environ.get("PROMPT", "")}

@agentdbg.tool(effect="write")
def book(order):
    ledger("book")
    return "booked"

@agentdbg.tool(effect="read")
async def look_async(order):
    ledger("look_async")
    await asyncio.sleep(0.01)
    return {"order": order}

"""
MAIN = """
if __name__ == "__main__":
    result = run("o-1")
    print(asyncio.run(result) if asyncio.iscoroutine(result) else result)
"""
STUBBORN = {
    "bare_except_everywhere": """
@agentdbg.agent
def run(order):
    while True:
        try:
            look(CHANGED)
            book(order)
            return "done"
        except:
            pass
""",
    "retry_loop": """
@agentdbg.agent
def run(order):
    for attempt in range(1000):
        try:
            return look(CHANGED)
        except BaseException:
            time.sleep(0.001)
""",
    "gather_exceptions": """
@agentdbg.agent
async def run(order):
    found = await asyncio.gather(look_async(CHANGED), look_async("b"), return_exceptions=True)
    book("z")
    return len(found)
""",
    "swallowing_tool": """
def swallow(order):
    try:
        return look(CHANGED)
    except BaseException:
        return "nothing"

@agentdbg.agent
def run(order):
    swallow(order)
    return book(order)
""",
}


@pytest.mark.parametrize("name", STUBBORN)
def test_a_program_that_swallows_everything_is_ended_and_its_divergence_named(lab: ReplayLab, name: str) -> None:
    lab.record(PRELUDE + STUBBORN[name].replace("CHANGED", "order") + MAIN)
    lab.write(PRELUDE + STUBBORN[name].replace("CHANGED", "'other'") + MAIN)
    outcome = lab.replay()
    assert outcome.verdict == "diverged"
    assert outcome.first_divergence is not None
    assert (outcome.first_divergence.path, outcome.first_divergence.cause) == ("$.order", "arguments")
    assert outcome.reason.startswith("step 2, tool look")
    assert "$.order expected o-1, got other" in outcome.reason
    assert outcome.served <= 1
    assert lab.seconds < 10
