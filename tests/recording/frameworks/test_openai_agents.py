"""Programs on openai-agents, recorded as they are: tools, hand-overs, agents as tools, approvals, streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentdbg.model.records import Kind, RunStatus
from tests.matrix.scenario import refund_desk
from tests.matrix.versions import AGENTS_NEW, AGENTS_OLD, Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab
from tests.support.scripted_server import Received, Reply

pytestmark = pytest.mark.wide
BOTH = [pytest.param(AGENTS_NEW, id="new"), pytest.param(AGENTS_OLD, id="old")]
MODES = ["sync", "async", "stream", "sync chat", "stream chat"]
HEAD = """
import asyncio, os, sys
import agentdbg
from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled

set_tracing_disabled(True)

def note(what):
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write(what + "\\n")

async def run(agent, asked):
    return (await Runner.run(agent, asked)).final_output

async def stream(agent, asked):
    result = Runner.run_streamed(agent, asked)
    events = [event.type async for event in result.stream_events()]
    return [result.final_output, len(events)]

@agentdbg.agent
def main(mode):
    if "chat" in mode:
        set_default_openai_api("chat_completions")
    if "sync" in mode.split():
        return Runner.run_sync(DESK, "refund O-7741").final_output
    return asyncio.run((stream if "stream" in mode else run)(DESK, "refund O-7741"))
"""
TOOLS = (
    HEAD
    + """
@function_tool
def get_order(order_id: str) -> dict:
    note("order")
    return {"order_id": order_id, "state": "delivered-late"}

@function_tool
async def get_policy(category: str) -> dict:
    note("policy")
    await asyncio.sleep(0.01)
    return {"version": "refund-policy-7"}

@function_tool
def execute_refund(order_id: str, amount: float, currency: str) -> dict:
    note("refund")
    return {"refund_id": "R-5501"}

DESK = Agent(name="desk", instructions="Be fair.", model="gpt-x", tools=[get_order, get_policy, execute_refund])

if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
"""
)
TEAM = (
    HEAD
    + """
@function_tool
def get_order(order_id: str) -> dict:
    note("order")
    return {"order_id": order_id}

@function_tool
def execute_refund(order_id: str) -> dict:
    note("refund")
    return {"refund_id": "R-5501"}

EXPERT = Agent(name="expert", instructions="You know.", model="gpt-expert", tools=[get_order])
BILLING = Agent(name="billing", instructions="You pay.", model="gpt-billing", tools=[execute_refund])
DESK = Agent(name="desk", model="gpt-desk", handoffs=[BILLING], tools=[EXPERT.as_tool("ask_expert", "Asks.")])

if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
"""
)
APPROVAL = (
    HEAD
    + """
from agents import RunState

@function_tool(needs_approval=True)
def execute_refund(order_id: str) -> dict:
    note("refund")
    return {"refund_id": "R-5501"}

DESK = Agent(name="desk", model="gpt-x", tools=[execute_refund])

async def ask(how):
    result = await Runner.run(DESK, "refund O-7741")
    if how == "wait":
        return None
    state = result.to_state()
    if how == "stored":
        state = await RunState.from_json(DESK, state.to_json())
    for item in result.interruptions:
        (state.reject if how == "reject" else state.approve)(item)
    if how == "stream":
        result = Runner.run_streamed(DESK, state)
        async for event in result.stream_events():
            pass
        return result.final_output
    return (await Runner.run(DESK, state)).final_output

@agentdbg.agent
def desk(how):
    return asyncio.run(ask(how))

if __name__ == "__main__":
    asyncio.run(ask("approve")) if sys.argv[1] == "roots" else desk(sys.argv[1])
"""
)


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Callable[[Versions], FrameworkLab]]:
    def make(versions: Versions) -> FrameworkLab:
        lab = FrameworkLab(tmp_path, environment(*versions.requirements, python=versions.python))
        made.append(lab)
        return lab

    made: list[FrameworkLab] = []
    yield make
    for lab in made:
        lab.provider.stop()


def team(received: Received) -> Reply:
    """The desk asks an expert, then hands over to somebody who pays."""
    said = json.dumps(received.json.get("messages") or received.json.get("input"))
    answered = '"function_call_output"' in said or '"role": "tool"' in said
    match received.json["model"]:
        case "gpt-expert":
            return Reply(text="it was late") if answered else Reply(tool_calls=(("get_order", {"order_id": "O-7741"}),))
        case "gpt-billing":
            paid = "R-5501" in said
            return Reply(text="paid") if paid else Reply(tool_calls=(("execute_refund", {"order_id": "O-7741"}),))
    if "it was late" in said:
        return Reply(tool_calls=(("transfer_to_billing", {}),))
    return Reply(tool_calls=(("ask_expert", {"input": "was it late?"}),))


def one_refund(received: Received) -> Reply:
    said = json.dumps(received.json["input"])
    return (
        Reply(text="done")
        if "function_call_output" in said
        else Reply(tool_calls=(("execute_refund", {"order_id": "O-1"}),))
    )


@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize("mode", MODES)
def test_tools_are_steps_of_the_agent(laboratory: Callable[..., FrameworkLab], versions: Versions, mode: str) -> None:
    lab = laboratory(versions)
    lab.provider.default = refund_desk
    lab.record(TOOLS, *mode.split())
    assert lab.outline()[:2] == ["agent main", "  agent desk"]
    assert sorted(lab.outline()[2:]) == sorted(
        ["    model gpt-x"] * 3 + ["    tool execute_refund", "    tool get_order", "    tool get_policy"]
    )
    order = lab.tools()["get_order"]
    assert lab.body(order.arguments) == {"order_id": "O-7741"}
    assert lab.body(order.result) == {"order_id": "O-7741", "state": "delivered-late"}
    assert str(order.attrs["call_id"]).startswith("call_") and order.attrs["effect_declared"] is False
    assert order.lane != lab.tools()["get_policy"].lane
    assert sorted((lab.outside / "log").read_text().split()) == ["order", "policy", "refund"]
    lab.replay_five_times()


FAILURE = "An error occurred while running the tool"


def larger_refund(received: Received) -> Reply:
    """The same scene with another amount, to whose refusal the model has something to say."""
    said = json.dumps(received.json.get("messages") or received.json.get("input"))
    if FAILURE in said:
        return Reply(text="then I will not")
    reply = refund_desk(received)
    calls = tuple(
        (name, {**given, "amount": 99.0}) if "amount" in given else (name, given) for name, given in reply.tool_calls
    )
    return replace(reply, tool_calls=calls)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_a_regression_refuses_is_told_to_the_model(
    laboratory: Callable[..., FrameworkLab], mode: str
) -> None:
    lab = laboratory(AGENTS_NEW)
    lab.provider.default = refund_desk
    lab.record(TOOLS, *mode.split())
    lab.provider.default = larger_refund
    lab.write(TOOLS.replace("Be fair.", "Be kind."))
    outcome = lab.regress()
    assert outcome.verdict == "changed", outcome.reason
    assert [(each["name"], each["deed"]) for each in outcome.findings] == [("execute_refund", "refuse")]
    assert [note for note in outcome.notes if "ended on" in note] == []
    assert lab.provider.bodies[-1].count(FAILURE.encode()) == 1


@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize("mode", ["sync", "stream", "async chat"])
def test_every_agent_that_gets_the_turn_is_a_step(
    laboratory: Callable[..., FrameworkLab], versions: Versions, mode: str
) -> None:
    lab = laboratory(versions)
    lab.provider.default = team
    lab.record(TEAM, *mode.split())
    assert lab.outline() == [
        "agent main",
        "  agent desk",
        "    model gpt-desk",
        "    agent expert",
        "      model gpt-expert",
        "      tool get_order",
        "      model gpt-expert",
        "    model gpt-desk",
        "    agent billing",
        "      model gpt-billing",
        "      tool execute_refund",
        "      model gpt-billing",
    ]
    _, desk, _, billing = lab.steps(Kind.AGENT)
    assert billing.attrs["handed_over_by"] == "desk"
    assert lab.body(desk.result) == lab.body(billing.result) == "paid"
    lab.replay_five_times()


@pytest.mark.parametrize("how", ["approve", "reject", "stored", "stream"])
def test_a_decision_is_a_step_and_the_call_says_whether_it_is_what_was_approved(
    laboratory: Callable[..., FrameworkLab], how: str
) -> None:
    lab = laboratory(AGENTS_NEW)
    lab.provider.default = one_refund
    lab.record(APPROVAL, how)
    (asked,) = lab.steps(Kind.APPROVAL)
    about = lab.body(asked.arguments)
    assert about["state"]["tool"] == "execute_refund" and about["state"]["arguments"] == {"order_id": "O-1"}
    assert lab.body(asked.result) == ("rejected" if how == "reject" else "approved")
    done = [step.attrs.get("as_approved") for step in lab.steps(Kind.TOOL)]
    assert done == ([] if how == "reject" else [True])
    assert lab.run().summary().status is RunStatus.OK
    lab.replay_five_times()


def test_a_run_that_needs_an_approval_waits(laboratory: Callable[..., FrameworkLab]) -> None:
    lab = laboratory(AGENTS_NEW)
    lab.provider.default = one_refund
    lab.record(APPROVAL, "wait")
    assert lab.run().summary().status is RunStatus.WAITING
    lab.replay_five_times()


def test_a_resumed_run_names_the_one_it_continues(laboratory: Callable[..., FrameworkLab]) -> None:
    lab = laboratory(AGENTS_NEW)
    lab.provider.default = one_refund
    lab.record(APPROVAL, "roots")
    (second,) = [path.name for path in (lab.store / "runs").iterdir() if path.name != "run-1"]
    assert lab.run().summary().status is RunStatus.WAITING
    assert lab.run(second).summary().meta["continues"] == "run-1"
    assert [step.name for step in lab.steps(Kind.APPROVAL, address=second)] == ["run execute_refund?"]
