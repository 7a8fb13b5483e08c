"""A write in doubt whose status look-up hangs stays in doubt, and the replay says so instead of waiting."""

from __future__ import annotations

import threading

import pytest

from agentdbg.recording.calls import ReplayStop
from agentdbg.replay.look_ups import LookUps
from tests.support.regression_lab import RegressionLab, made

PROGRAM = """\
from helpers import *
import asyncio, socket, threading


def hang(key, amount):
    HOW


ASYNC def was_paid(key, amount):
    WAY


@agentdbg.tool(effect="external", idempotency_key="key", status=was_paid)
ASYNC def pay(amount, key):
    os.environ.get("DIE") and os._exit(9)
    return post("/pay", f"{amount}")


@agentdbg.agent
ASYNC def desk(item):
    ask([{"role": "user", "content": item}])
    try:
        found = CALL
    except BaseException as problem:
        found = str(problem)
    agentdbg.final_state("PAID")
    return {"found": len(found)}


if __name__ == "__main__":
    RUN
"""
PLAIN = {"ASYNC ": "", "CALL": "pay(5, key='order-1')", "RUN": 'desk("pen")', "WAY": "return hang(key, amount)"}
TASK = {
    "ASYNC ": "async ",
    "CALL": "await pay(5, key='order-1')",
    "RUN": 'asyncio.run(desk("pen"))',
    "WAY": "await asyncio.Event().wait()",
}
HANGS = {
    "event": {**PLAIN, "HOW": "threading.Event().wait()"},
    "server": {
        **PLAIN,
        "HOW": "socket.create_connection(('127.0.0.1', int(os.environ['WORLD']))).recv(1)",
    },
    "loop": {**PLAIN, "HOW": "while True:\n        pass"},
    "task": TASK,
    "blocked loop": {**TASK, "WAY": "return hang(key, amount)", "HOW": "threading.Event().wait()"},
}


@pytest.mark.wide
@pytest.mark.parametrize("guard", ["audit", "auto"])
@pytest.mark.parametrize("how", HANGS)
def test_a_look_up_that_hangs_leaves_the_write_in_doubt(world_lab: RegressionLab, how: str, guard: str) -> None:
    program = PROGRAM
    for name, text in HANGS[how].items():
        program = program.replace(name, text)
    world_lab.record(program, env={"DIE": "1"}, ok=False)
    outcome = world_lab.regress(start=1, guard=guard, timeout=12)
    assert outcome.verdict == "refused", outcome.reason
    assert outcome.reason == "pay is in doubt: its status look-up did not answer within 6 s"
    assert [(each["name"], each["key"], each["deed"]) for each in outcome.findings] == [("pay", "order-1", "refuse")]
    assert world_lab.world.done == []


def test_one_that_answers_or_is_held_is_not_over() -> None:
    told: list[dict[str, object]] = []
    over, held = threading.Event(), [True]

    def latch(stop: ReplayStop, message: dict[str, object]) -> None:
        told.append(message)
        over.set()

    look_ups = LookUps(0.2, latch, lambda: held[0])
    quick, slow = made("quick"), made("slow", key="k")
    look_ups.begins(quick)
    look_ups.begins(slow)
    look_ups.ended(quick.step)
    look_ups.ended("of nothing")
    assert not over.wait(0.5)
    held[0] = False
    assert over.wait(5)
    assert [(each["name"], each["key"], each["event"]) for each in told] == [("slow", "k", "unsettled")]
