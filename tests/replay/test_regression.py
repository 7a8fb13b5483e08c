"""Regression replays of real programs: what is served, what is live, what is never done, and what it all comes to."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from agentdbg.replay.edits import parse_edit
from agentdbg.replay.intents import parse_intent
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.pinned import Pin
from agentdbg.replay.regression_lane import Question
from agentdbg.replay.run import ReplayRefused
from agentdbg.replay.sandbox import Sandbox
from tests.support.regression_lab import RegressionLab

DESK = """\
from helpers import *


@agentdbg.tool(effect="read")
def price(item):
    return json.loads(get("/" + item))


@agentdbg.tool(effect="external", idempotency_key="key")
def pay(item, amount, key):
    return post("/pay", f"{item} {amount} {key}", os.environ.get("SHOP"))


@agentdbg.tool(effect="write", dry_run=lambda text: "would note")
def note(text):
    return post("/note", text)


@agentdbg.agent(name="desk")
def desk(item):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": item}]
    answer = ask(messages)
    call = answer["tool_calls"][0]["function"]
    cost = price(**json.loads(call["arguments"]))
    agentdbg.checkpoint("priced", {"status": "PRICED", "cost": cost}, can_resume=True)
    messages.append({"role": "tool", "content": json.dumps(cost)})
    answer = ask(messages)
    if answer.get("tool_calls"):
        pay(item, cost["amount"], key="order-7")
        agentdbg.final_state("PAID")
    else:
        note("asked " + item)
        agentdbg.final_state("ASKED")
    return {"item": item, "status": "done"}


if __name__ == "__main__":
    desk("pen")
"""


@pytest.fixture
def lab(world_lab: RegressionLab) -> RegressionLab:
    world_lab.world.facts["pen"] = '{"amount": 5}'
    world_lab.world.model = clerk
    return world_lab


def clerk(body: dict[str, Any]) -> str | tuple[str, dict[str, Any]]:
    """Looks the price up, pays when it is low, unless the prompt forbids it."""
    messages = body["messages"]
    if messages[-1]["role"] != "tool":
        return "price", {"item": messages[-1]["content"]}
    may = "Never pay" not in messages[0]["content"] and json.loads(messages[-1]["content"])["amount"] < 10
    return ("pay", {}) if may else "a person has to decide"


def change(lab: RegressionLab, old: str, new: str) -> None:
    """Edit the program."""
    text = lab.program.read_text()
    assert old in text
    lab.program.write_text(text.replace(old, new))


def paid(lab: RegressionLab) -> int:
    """How often money was really moved."""
    return sum(1 for each in lab.world.done if each.startswith("POST /pay"))


def numbers(outcome: Outcome) -> dict[str, Any]:
    members: Any = outcome.members()
    return dict(members["counts"])


def test_what_touches_no_model_input_costs_no_model_call(lab: RegressionLab) -> None:
    lab.record(DESK)
    lab.world.facts["pen"] = '{"amount": 50}'
    calls = lab.world.calls
    outcome = lab.regress()
    assert outcome.verdict == "unaffected", outcome.reason
    assert (lab.world.calls, paid(lab)) == (calls, 1)
    assert outcome.replay_run == "run-1.regression-1"
    meta = lab.run("run-1.regression-1").summary().meta
    assert (meta["mode"], meta["replay_of"], meta["verdict"]) == ("regression", "run-1", "unaffected")


def test_a_fix_is_tried_on_the_model_and_nothing_is_paid(lab: RegressionLab) -> None:
    lab.record(DESK)
    change(lab, "Be brief.", "Be brief. Never pay.")
    calls = lab.world.calls
    outcome = lab.regress(samples=2, intents=(parse_intent("input.system:*"), parse_intent("model_output:*")))
    assert outcome.verdict == "changed", outcome.reason
    assert outcome.reason.startswith("final state PAID → ASKED")
    assert (lab.world.calls - calls, paid(lab), outcome.stability) == (4, 1, "2/2")
    assert [each["step"] for each in outcome.touched] == [2, 6]
    assert outcome.from_step == 2
    assert numbers(outcome) == {"served": 0, "live": 6, "dry_run": 2, "refused": 0, "tolerated": 0, "unconsumed": 4}
    assert [(each["name"], each["deed"]) for each in outcome.findings] == [("note", "dry-run")]
    assert outcome.answers[-1].changed == "yes"
    assert "unintended" in outcome.answers[-1].evidence
    assert lab.run("run-1.regression-2").summary().meta["from_step"] == 2


@pytest.mark.wide
def test_from_a_checkpoint_on_reads_are_live_and_drift_is_told_apart(lab: RegressionLab) -> None:
    lab.record(DESK)
    lab.world.facts["pen"] = '{"amount": 50}'
    outcome = lab.regress(start=3)
    assert outcome.verdict == "changed", outcome.reason
    assert [(each["step"], each["path"], each["got"]) for each in outcome.drift] == [(3, "$.amount", "50")]
    assert any("drifted" in note for note in outcome.notes)
    assert paid(lab) == 1
    assert outcome.from_step == 3
    assert numbers(outcome)["served"] == 1
    pinned = lab.regress(start=3, pins=(Pin("price"),))
    assert (pinned.verdict, pinned.drift) == ("same", ()), pinned.reason
    assert paid(lab) == 1
    other = lab.regress(start=3, edits=(parse_edit("3:result.amount=7"),))
    assert other.verdict == "changed", other.reason
    assert "final state PAID → PRICED" in other.reason
    assert [(each["name"], each["deed"]) for each in other.findings] == [("pay", "refuse")]
    assert paid(lab) == 1
    assert other.members()["edits"] == [{"step": 3, "path": "result.amount", "value": 7}]
    assert lab.run(str(other.replay_run)).summary().meta["edits"] == other.members()["edits"]


@pytest.mark.wide
def test_what_does_not_exist_in_the_record_never_runs_before_the_checkpoint(lab: RegressionLab) -> None:
    lab.record(DESK)
    change(lab, "    answer = ask(messages)\n    call", '    note("first")\n    answer = ask(messages)\n    call')
    outcome = lab.regress(start=5)
    assert outcome.verdict == "prefix_changed", outcome.reason
    assert "note" in outcome.reason and "--from" in outcome.reason
    assert not any(each.startswith("POST /note") for each in lab.world.done)


def outcomes_of(lab: RegressionLab, program: str, old: str, new: str, **options: Any) -> Outcome:
    """Record a program, change it, replay it."""
    lab.record(program)
    change(lab, old, new)
    return lab.regress(**options)


READING = """\
from helpers import *
import pathlib, socket, subprocess, threading, urllib.request


@agentdbg.tool(effect="read")
def look():
    {body}


@agentdbg.tool(effect="write")
def save(text):
    return post("/save", text)


@agentdbg.tool
def undeclared(text):
    return post("/undeclared", text)


@agentdbg.agent
def reader():
    ask([{{"role": "user", "content": "v1"}}])
    {outside}
    found = look()
    agentdbg.final_state("READ")
    return {{"found": len(str(found))}}


if __name__ == "__main__":
    reader()
"""


def reading(body: str = "return 1", outside: str = "pass") -> str:
    return READING.format(body=body, outside=outside)


def other_server(lab: RegressionLab) -> str:
    assert lab.server is not None
    return f"http://127.0.0.1:{lab.server.port}"


@pytest.mark.wide
@pytest.mark.parametrize("guard", ["audit", "auto"])
class TestEffects:
    """What the present code may do for real, under either guard."""

    def test_a_declared_read_may_reach_anything_while_it_runs(self, lab: RegressionLab, guard: str) -> None:
        lab.world.facts["fact"] = "7"
        body = 'return get("/fact") + urllib.request.urlopen(f"http://localhost:{os.environ[\'WORLD\']}/fact").read().decode()'
        outcome = outcomes_of(lab, reading(body), "v1", "v2", guard=guard)
        assert outcome.verdict == "same", outcome.reason
        assert lab.world.done == ["GET /fact"] * 4

    def test_the_agents_own_code_may_not(self, lab: RegressionLab, guard: str) -> None:
        lab.record(reading())
        change(lab, "v1", "v2")
        change(lab, "    pass\n", '    socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))\n')
        outcome = lab.regress(guard=guard)
        assert outcome.verdict == "refused", outcome.reason
        assert "socket" in outcome.reason or "connect" in outcome.reason

    def test_a_thread_of_the_agents_may_not_while_a_read_runs(self, lab: RegressionLab, guard: str) -> None:
        lab.record(reading("threading.Event().wait(0.2); return 1"))
        thread = (
            'threading.Thread(target=lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))).start()'
        )
        change(lab, "v1", "v2")
        change(lab, "    pass\n", f"    {thread}\n")
        assert lab.regress(guard=guard).verdict == "refused"

    @pytest.mark.parametrize(
        "body",
        [
            'pathlib.Path(os.environ["OUTSIDE"], "x").write_text("x"); return 1',
            'return subprocess.run(["true"]).returncode',
        ],
    )
    def test_a_read_writes_no_file_and_starts_no_process(self, lab: RegressionLab, guard: str, body: str) -> None:
        lab.record(reading())
        change(lab, "v1", "v2")
        change(lab, "return 1", body)
        outcome = lab.regress(guard=guard)
        if "write_text" in body and guard == "auto":  # contained by the copy-on-write view, or refused outside of it
            assert outcome.contained or outcome.verdict == "refused"
        else:
            assert outcome.verdict == "refused", outcome.reason

    @pytest.mark.parametrize("tool", ["save", "undeclared"])
    def test_a_tool_that_writes_is_refused_to_the_agent(self, lab: RegressionLab, guard: str, tool: str) -> None:
        lab.record(reading(outside=f'{tool}("a")'))
        change(lab, "v1", "v2")
        change(lab, f'{tool}("a")', f'{tool}("b")')
        outcome = lab.regress(guard=guard)
        assert [(each["name"], each["deed"]) for each in outcome.findings] == [(tool, "refuse")]
        assert (outcome.verdict, numbers(outcome)["refused"]) == ("changed", 1), outcome.reason
        assert len(lab.world.done) == 1

    def test_a_read_that_calls_a_writing_tool_does_not_get_it_run(self, lab: RegressionLab, guard: str) -> None:
        lab.record(reading())
        change(lab, "v1", "v2")
        change(lab, "return 1", 'return save("from a read")')
        outcome = lab.regress(guard=guard)
        assert [each["name"] for each in outcome.findings] == ["save"]
        assert lab.world.done == []

    def test_an_agent_that_copes_with_the_refusal_goes_on(self, lab: RegressionLab, guard: str) -> None:
        lab.record(reading(outside='save("a")'))
        change(lab, "v1", "v2")
        change(lab, 'save("a")', 'try:\n        save("b")\n    except Exception as problem:\n        print(problem)')
        outcome = lab.regress(guard=guard)
        assert (outcome.verdict, len(lab.world.done)) == ("changed", 1), outcome.reason
        assert outcome.samples[0]["final_state"] == "READ"

    def test_http_outside_of_tools_is_read_when_it_is_a_get(self, lab: RegressionLab, guard: str) -> None:
        lab.world.facts["x"] = "old"
        lab.record(reading(outside='httpx.get(WORLD + "/x", trust_env=False); httpx.post(WORLD + "/y", content="1")'))
        assert len(lab.world.done) == 2
        lab.world.facts["x"] = "new"
        change(lab, "v1", "v2")
        outcome = lab.regress(guard=guard)
        assert outcome.verdict == "same", outcome.reason
        assert [each["got"] for each in outcome.drift] == ["new"]
        assert len(lab.world.done) == 3
        change(lab, 'content="1"', 'content="2"')
        outcome = lab.regress(guard=guard)
        assert outcome.verdict == "changed"
        assert "POST" not in lab.world.done[-1]
        assert [each["deed"] for each in outcome.findings] == ["refuse"]

    def test_in_a_sandbox_writes_are_made_there_and_external_ones_with_a_yes(
        self, lab: RegressionLab, guard: str
    ) -> None:
        asked: list[Question] = []
        lab.record(DESK)
        change(lab, "Be brief.", "Be kind.")
        change(lab, "    if answer.get", '    cost["amount"] = 6\n    if answer.get')
        here = f"127.0.0.1:{lab.world.port}"
        sandbox = Sandbox("s", {"SHOP": f"http://{here}"}, (here,), ("pay",))
        replies = iter((False, True))

        def person(about: Question) -> bool:
            asked.append(about)
            return next(replies)

        for times in (1, 2):
            outcome = lab.regress(guard=guard, sandbox=sandbox, person=person)
            assert outcome.verdict == "changed", outcome.reason
            assert paid(lab) == times
            assert [each["deed"] for each in outcome.findings] == [["ask", "refuse"], ["ask", "live"]][times - 1]
        assert [(each.about, each.name, each.key) for each in asked] == [("tool", "pay", "order-7")] * 2
        assert lab.regress(guard=guard, sandbox=sandbox).verdict == "changed"
        assert paid(lab) == 2

    def test_another_route_than_the_recorded_one_is_refused(self, lab: RegressionLab, guard: str) -> None:
        lab.record(reading())
        lab.world.calls = 0
        change(
            lab,
            "from helpers import *",
            f'from helpers import *\nimport helpers\nhelpers.WORLD = "{other_server(lab)}"',
        )
        change(lab, "v1", "v2")
        outcome = lab.regress(guard=guard)
        assert outcome.verdict == "refused", outcome.reason
        assert str(lab.server.port if lab.server else "") in outcome.reason
        assert lab.world.calls == 0


@pytest.mark.wide
def test_samples_that_disagree_are_flaky_and_end_the_sampling(lab: RegressionLab) -> None:
    lab.record(DESK)
    change(lab, "Be brief.", "Be kind.")
    turns = iter(range(100))
    lab.world.model = lambda body: (
        "a person has to decide" if body["messages"][-1]["role"] == "tool" and next(turns) % 2 else clerk(body)
    )
    outcome = lab.regress(samples=5)
    assert (outcome.verdict, outcome.stability) == ("flaky", "1/2"), outcome.reason
    assert [each["verdict"] for each in outcome.samples] == ["same", "changed"]
    assert paid(lab) == 1


@pytest.mark.wide
def test_a_checkpoint_that_nothing_may_go_on_from_refuses_with_its_reasons(lab: RegressionLab) -> None:
    lab.record(DESK.replace("can_resume=True", 'can_resume=False, unsafe_reasons=["the till is open"]'))
    with pytest.raises(ReplayRefused, match="the till is open"):
        lab.regress(start=6)
    assert lab.regress(start=3).verdict == "same"


@pytest.mark.wide
def test_a_write_in_doubt_is_settled_by_the_tools_look_up(lab: RegressionLab) -> None:
    program = (
        DESK.replace('idempotency_key="key")', 'idempotency_key="key", status=was_paid)')
        .replace(
            '@agentdbg.tool(effect="external"',
            "def was_paid(key, **_):\n    return json.loads(get('/paid'))\n\n\n@agentdbg.tool(effect=\"external\"",
        )
        .replace('    return post("/pay"', "    os.environ.get('DIE') and os._exit(9)\n    return post(\"/pay\"")
    )
    lab.record(program, env={"DIE": "1"}, ok=False)
    for answer, verdict, deeds in (('{"done": 1}', "changed", ["settle"]), ("null", "refused", ["settle", "refuse"])):
        lab.world.facts["paid"] = answer
        outcome = lab.regress(start=6)
        assert outcome.verdict == verdict, outcome.reason
        assert [each["deed"] for each in outcome.findings] == deeds
    assert paid(lab) == 0


@pytest.mark.wide
def test_code_that_breaks_is_a_change_and_a_program_that_hangs_times_out(lab: RegressionLab) -> None:
    lab.record(DESK)
    change(lab, "    messages = [", '    raise LookupError("broken")\n    messages = [')
    outcome = lab.regress()
    assert (outcome.verdict, outcome.samples[0]["error"]) == ("changed", "LookupError"), outcome.reason
    change(lab, '    raise LookupError("broken")\n', "    import threading; threading.Event().wait()\n")
    assert lab.regress(timeout=3).verdict == "timed_out"


@pytest.mark.wide
def test_sleeps_are_skipped_as_far_as_the_record_goes_and_last_afterwards(lab: RegressionLab) -> None:
    program = reading("import time; time.sleep(0.3); return 1", outside="import time; time.sleep(30)")
    lab.record(program.replace("time.sleep(30)", "time.sleep(0.01)"))
    change(lab, "time.sleep(0.01)", "time.sleep(30)")
    assert lab.regress().verdict == "unaffected"
    assert lab.seconds < 25


ASYNC = """\
from helpers import *
import asyncio


@agentdbg.tool(effect="read")
async def look(name):
    await asyncio.sleep(0.01)
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(WORLD + "/" + name)).text


async def pretend(text):
    return "would send " + text


@agentdbg.tool(effect="external", dry_run=pretend)
async def send(text):
    return post("/send", text)


@agentdbg.agent
async def many():
    async with httpx.AsyncClient(trust_env=False) as client:
        async def think(n):
            body = {"model": "m", "messages": [{"role": "user", "content": f"v1 {n}"}]}
            return (await client.post(WORLD + "/v1/chat/completions", json=body)).json()["id"]

        await asyncio.gather(*(think(n) for n in range(3)))
        found = await asyncio.gather(*(look(name) for name in "abc"))
        sent = await send(",".join(found))
    agentdbg.final_state("DONE")
    return {"sent": sent.split()[0]}


if __name__ == "__main__":
    asyncio.run(many())
"""


@pytest.mark.wide
@pytest.mark.parametrize("guard", ["audit", "auto"])
def test_tasks_run_side_by_side_live(lab: RegressionLab, guard: str) -> None:
    lab.world.facts |= {"a": "1", "b": "2", "c": "3"}
    lab.record(ASYNC)
    assert lab.regress(guard=guard).verdict == "unaffected"
    change(lab, "v1 {n}", "v2 {n}")
    lab.world.facts["b"] = "9"
    outcome = lab.regress(guard=guard)
    assert outcome.verdict == "changed", outcome.reason
    assert [each["name"] for each in outcome.drift] == ["look"]
    assert [(each["name"], each["deed"]) for each in outcome.findings] == [("send", "dry-run")]
    assert sum(1 for each in lab.world.done if each.startswith("POST /send")) == 1


@pytest.mark.wide
def test_a_launched_program_is_replayed_as_a_regression(lab: RegressionLab) -> None:
    program = DESK.replace('@agentdbg.agent(name="desk")\n', "")
    lab.record(
        program,
        command=[
            "-m",
            "agentdbg.cli.main",
            "record",
            "--run-id",
            "run-1",
            "--",
            sys.executable,
            str(lab.place / "program.py"),
        ],
    )
    outcome = lab.regress()
    assert outcome.verdict == "unaffected", outcome.reason
    change(lab, "Be brief.", "Be brief. Never pay.")
    outcome = lab.regress()
    assert outcome.verdict == "changed", outcome.reason
    assert paid(lab) == 1


IPV6 = """\
import socket


def _has_ipv6(host):
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind((host, 0))
        return True
    except OSError:
        return False


HAS_IPV6 = _has_ipv6("::1")
"""


def test_a_library_may_ask_whether_the_machine_knows_ipv6(lab: RegressionLab) -> None:
    folder = lab.place / "urllib3" / "util"
    folder.mkdir(parents=True)
    (folder / "connection.py").write_text(IPV6)
    lab.record(DESK.replace("from helpers import *", "from helpers import *\nimport urllib3.util.connection"))
    outcome = lab.regress(guard="auto")
    assert (outcome.verdict, outcome.refused) == ("unaffected", ()), outcome.reason
