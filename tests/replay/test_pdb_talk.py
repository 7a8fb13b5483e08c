"""Pdb in a replayed program: what it shows, where it goes, what it may not do, and that the verdict tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agentdbg.replay.pdb_talk import PdbTalk, converse
from agentdbg.replay.session import CannotDo, ReplaySession
from agentdbg.replay.session_events import Ended, Refused
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import Followed, followed

PROGRAM = """\
import os, socket, time, uuid
import agentdbg

@agentdbg.tool(effect="read")
def look(order):
    return {"id": order, "total": 120}

@agentdbg.tool(effect="write")
def refund(order, amount):
    return "paid"

def half(amount):
    part = amount / 2
    return part

@agentdbg.agent
def run(order):
    secret = "sk-ant-api03-" + "a" * 95
    found = look(order)
    amount = half(found["total"])
    began = time.time()
    try:
        raise ValueError("bad")
    except ValueError:
        pass
    paid = refund(order, amount)
    agentdbg.checkpoint("end", {"began": began, "id": uuid.uuid4().hex})
    return paid

if __name__ == "__main__":
    run("o-1")
"""


@contextmanager
def talking(lab: ReplayLab, **options: object) -> Iterator[tuple[Followed, PdbTalk]]:
    with followed(lab, pause=True, **options) as replay:  # type: ignore[arg-type]
        replay.paused()
        talk = PdbTalk(replay.session)
        try:
            yield replay, talk
        finally:
            talk.close()


def test_it_looks_steps_and_goes_on(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    with talking(lab) as (replay, talk):
        say = lambda line: talk.say(line, 20)  # noqa: E731
        assert "-> found = look(order)" in talk.where()
        assert {"order", "secret"} <= set(talk.names())
        assert say("p order, len(secret)") == "('o-1', 108)\n"
        assert "sk-ant" not in say("p secret")
        assert "<module>" in say("up") and "run(" in say("down")
        assert "-> amount = half(found" in say("n")
        assert say("p found") == "{'id': 'o-1', 'total': 120}\n"
        stepped = say("s")
        assert "half(" in stepped, stepped
        if "--Call--" in stepped:
            stepped = say("s")
        assert "-> part = amount / 2" in stepped or "-> part = amount / 2" in say("n")
        assert "half()" in say("where") and "> " in say("where")
        returned = say("r")
        assert "--Return--" in returned and "->60.0" in returned
        assert "-> began = time.time()" in say("n")
        assert "replay stays where it is" in say("q")
        assert "not in a replay" in say("interact")
        assert "NameError" in say("p nothing")
        assert "over: identical" in say("c")
        with pytest.raises(CannotDo, match="held for pdb"):
            say("p 1")
        replay.until(Ended)
    outcome = replay.session.wait()
    assert outcome.verdict == "identical" and outcome.reason.endswith("; a person used pdb in it")
    assert outcome.inspected > 10
    assert lab.run(str(outcome.replay_run)).summary().meta["outcome"]["inspected"] == outcome.inspected  # type: ignore[index,call-overload]


def test_it_stops_at_lines_where_somebody_wants_it_to(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    with talking(lab) as (replay, talk):
        assert "Breakpoint 1 at" in talk.say("b half", 20)
        assert "-> part = amount / 2" in talk.say("c", 20)
        replay.session.set_stops([{"name": "refund"}])
        assert "held before tool refund" in talk.say("c", 20)
        assert "over: identical" in talk.say("c", 20)
        replay.until(Ended)


def test_what_is_assigned_counts_and_is_told(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    with talking(lab) as (replay, talk):
        assert talk.say("order = 'o-2'", 20) == ""
        talk.say("n", 20)
        assert talk.say("p order", 20) == "'o-2'\n"
        talk.say("n", 20)
        talk.say("amount = 7", 20)
        assert talk.say("p amount", 20) == "7\n"
        assert "over: diverged" in talk.say("c", 20)
        replay.until(Ended)
    outcome = replay.session.wait()
    assert outcome.first_divergence is not None and outcome.first_divergence.name == "refund"
    assert outcome.reason.endswith("a person used pdb in it")


def test_what_a_person_types_takes_nothing_from_the_record_and_reaches_nothing(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    tries = {
        "open(os.environ['OUTSIDE'] + '/mine', 'w')": "open",
        "socket.create_connection(('127.0.0.1', int(os.environ['PORT'])))": "socket.connect",
        "os.system('true')": "os.system",
        "os.remove(os.environ['OUTSIDE'])": "os.remove",
    }
    with talking(lab) as (replay, talk):
        for code, effect in tries.items():
            said = talk.say(f"p {code}", 20)
            assert "does not run this" in said and effect.split(".")[0] in said, said
        for code in ("look('o-9')", "refund(order, 1)", "agentdbg.checkpoint('x', {})", "agentdbg.retrieved([])"):
            assert "not made from pdb" in talk.say(f"p {code}", 20)
        for code in ("time.time()", "uuid.uuid4()", "[uuid.uuid4() for _ in range(3)]", "time.sleep(50)", "half(2)"):
            assert "***" not in talk.say(f"p {code}", 20)
        assert "over: identical" in talk.say("c", 20)
        replay.until(Ended)
    outcome = replay.session.wait()
    assert (outcome.verdict, outcome.refused) == ("identical", ())
    assert [event.effect for event in replay.all(Refused) if event.frame == "pdb"] != []


THREADS = """\
import asyncio, threading
import agentdbg

@agentdbg.tool(effect="read")
async def ask(name):
    await asyncio.sleep(0.01)
    return name * 2

@agentdbg.tool(effect="read")
def look(name):
    return name

def work(out, name):
    got = look(name)
    got = got + "!"
    out.append(got)

async def one(name):
    said = await ask(name)
    said = said.upper()
    return said

@agentdbg.agent
async def run():
    out = []
    thread = threading.Thread(target=work, args=(out, "t"))
    thread.start()
    thread.join()
    both = await asyncio.gather(one("a"), one("b"))
    agentdbg.checkpoint("end", {"both": both, "out": out})
    return both

if __name__ == "__main__":
    asyncio.run(run())
"""


def test_it_goes_line_by_line_in_threads_and_tasks(lab: ReplayLab) -> None:
    lab.record(THREADS)
    with talking(lab) as (replay, talk):
        session = replay.session
        assert "-> got = look(name)" in talk.where()
        assert '-> got = got + "!"' in talk.say("n", 20)
        assert "-> out.append(got)" in talk.say("n", 20)
        assert talk.say("p got", 20) == "'t!'\n"
        session.step()  # from here to the next call, which a task makes
        assert replay.paused().call.kind == "line"
        assert replay.paused().call.kind == "line"
        assert [replay.paused().call.name, replay.paused().call.name] == ["ask", "ask"]
        said = talk.say("n", 20)
        assert "tool ask is held too" in said  # the other task's, which was asked before this one's outcome came
        assert "-> said = said.upper()" in talk.say("n", 20)
        assert talk.say("p said", 20) in ("'aa'\n", "'bb'\n")
        session.cont()
        while session.state != "over":
            session.cont()
            session._over.wait(0.1)
        replay.until(Ended)
    assert session.wait().verdict == "identical"


def test_a_conversation_on_a_terminal(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    typed = iter(["p order", "", "^C", "n", "q"])
    wrote: list[str] = []

    def read(prompt: str) -> str:
        word = next(typed)
        if word == "^C":
            raise KeyboardInterrupt
        return word

    with followed(lab, pause=True) as replay:
        replay.paused()
        converse(replay.session, read, lambda text: wrote.append(str(text)))
        assert replay.session.state == "paused"
        converse(replay.session, lambda prompt: "c", lambda text: wrote.append(str(text)))
        assert replay.session.wait(20).verdict == "identical"
        converse(replay.session, read, lambda text: wrote.append(str(text)))
    text = "\n".join(wrote)
    assert wrote[0].startswith("pdb in the replayed program")
    assert "'o-1'" in text and "-> amount = half(" in text and "the replay is over: identical" in text
    assert wrote[-1].startswith("the replay has to be held")


def test_a_regression_says_that_pdb_was_used(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    with talking(lab, start=2) as (replay, talk):
        talk.say("p order", 20)
        replay.session.decide("serve")
        while session_goes_on(replay.session):
            replay.session.cont()
        replay.until(Ended)
    outcome = replay.session.wait()
    assert outcome.inspected == 1 and "a person used pdb in it" in outcome.reason


def session_goes_on(session: ReplaySession) -> bool:
    return not session._over.wait(0.1)
