"""Programs on pydantic-ai, recorded as they are: each way to run an agent is one step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Kind, RunStatus
from tests.matrix.scenario import refund_desk
from tests.matrix.versions import PYDANTIC_AI_NEW, PYDANTIC_AI_OLD, Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab
from tests.support.scripted_server import Received, Reply

pytestmark = pytest.mark.wide
BOTH = [pytest.param(PYDANTIC_AI_NEW, id="new"), pytest.param(PYDANTIC_AI_OLD, id="old")]
HEAD = """
import asyncio, os, sys
import agentdbg
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.openai import OpenAIChatModel

def note(what):
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write(what + "\\n")
"""
TOOLS = (
    HEAD
    + """
class Policy(BaseModel):
    version: str
    limit: int = 100

desk = Agent(OpenAIChatModel("gpt-x"), instructions="Be fair.")

@desk.tool_plain
def get_order(order_id: str) -> dict:
    note("order")
    return {"order_id": order_id, "state": "delivered-late"}

@desk.tool_plain
async def get_policy(category: str) -> Policy:
    note("policy")
    await asyncio.sleep(0.01)
    return Policy(version="refund-policy-7")

@desk.tool
def execute_refund(ctx: RunContext[None], order_id: str, amount: float, currency: str) -> dict:
    note("refund")
    return {"refund_id": "R-5501"}

async def iterate():
    async with desk.iter("refund O-7741") as run:
        nodes = [type(node).__name__ async for node in run]
    return [nodes, run.result.output]

async def stream():
    async with desk.run_stream("refund O-7741") as result:
        return [text async for text in result.stream_text(delta=True)]

def plain(mode):
    if mode == "sync":
        return desk.run_sync("refund O-7741").output
    if mode == "async":
        return asyncio.run(desk.run("refund O-7741")).output
    return asyncio.run(iterate() if mode == "iter" else stream())

@agentdbg.agent
def main(mode):
    return plain(mode)

if __name__ == "__main__":
    (plain if "root" in sys.argv else main)(sys.argv[1])
"""
)
TEAM = (
    HEAD
    + """
expert = Agent(OpenAIChatModel("gpt-expert"), name="expert")
desk = Agent(OpenAIChatModel("gpt-desk"), name="desk")

@desk.tool_plain
async def ask_expert(question: str) -> str:
    note("asked")
    return (await expert.run(question)).output

@agentdbg.agent
def main():
    return desk.run_sync("refund O-7741").output

if __name__ == "__main__":
    main()
"""
)
APPROVAL = (
    HEAD
    + """
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

desk = Agent(OpenAIChatModel("gpt-x"), output_type=[str, DeferredToolRequests])

@desk.tool_plain(requires_approval=True)
def execute_refund(order_id: str) -> dict:
    note("refund")
    return {"refund_id": "R-5501"}

@agentdbg.agent
def main(how):
    first = desk.run_sync("refund O-7741")
    if how == "wait":
        return None
    results = DeferredToolResults()
    answers = {"approve": True, "reject": ToolDenied("no"), "change": ToolApproved(override_args={"order_id": "O-2"})}
    for call in first.output.approvals:
        results.approvals[call.tool_call_id] = answers[how]
    return desk.run_sync(message_history=first.all_messages(), deferred_tool_results=results).output

if __name__ == "__main__":
    main(sys.argv[1])
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


@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize("mode", ["sync", "async", "iter", "stream"])
def test_each_way_to_run_an_agent_is_one_step(
    laboratory: Callable[..., FrameworkLab], versions: Versions, mode: str
) -> None:
    lab = laboratory(versions)
    lab.provider.default = refund_desk
    lab.record(TOOLS, mode)
    assert lab.outline()[:2] == ["agent main", "  agent desk"]
    assert sorted(lab.outline()[2:]) == sorted(
        ["    model gpt-x"] * 3 + ["    tool execute_refund", "    tool get_order", "    tool get_policy"]
    )
    refund = lab.tools()["execute_refund"]
    assert lab.body(refund.arguments) == {"order_id": "O-7741", "amount": 42.5, "currency": "EUR"}
    assert lab.body(refund.result) == {"refund_id": "R-5501"}
    assert str(refund.attrs["call_id"]).startswith("call_")
    assert not lab.tools()["get_policy"].holes
    lab.replay_five_times()


@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_module_level_agent_can_be_called_again(
    laboratory: Callable[..., FrameworkLab], versions: Versions, mode: str
) -> None:
    lab = laboratory(versions)
    lab.provider.default = refund_desk
    lab.record(TOOLS, mode, "root")
    assert lab.outline()[0] == "agent desk"
    lab.replay_five_times()


def test_an_agent_that_a_tool_runs_is_below_the_tool(laboratory: Callable[..., FrameworkLab]) -> None:
    lab = laboratory(PYDANTIC_AI_NEW)
    lab.provider.default = _team
    lab.record(TEAM)
    assert lab.outline() == [
        "agent main",
        "  agent desk",
        "    model gpt-desk",
        "    tool ask_expert",
        "      agent expert",
        "        model gpt-expert",
        "    model gpt-desk",
    ]
    lab.replay_five_times()


def _team(received: Received) -> Reply:
    if received.json["model"] == "gpt-expert":
        return Reply(text="it was late")
    answered = "it was late" in json.dumps(received.json["messages"])
    return Reply(text="paid") if answered else Reply(tool_calls=(("ask_expert", {"question": "late?"}),))


def _one_refund(received: Received) -> Reply:
    answered = '"role": "tool"' in json.dumps(received.json["messages"])
    return Reply(text="done") if answered else Reply(tool_calls=(("execute_refund", {"order_id": "O-1"}),))


@pytest.mark.parametrize("how", ["approve", "reject", "change"])
def test_a_decision_is_a_step_of_the_run_that_goes_on(laboratory: Callable[..., FrameworkLab], how: str) -> None:
    lab = laboratory(PYDANTIC_AI_NEW)
    lab.provider.default = _one_refund
    lab.record(APPROVAL, how)
    (asked,) = lab.steps(Kind.APPROVAL)
    shown = lab.body(asked.arguments)["state"]
    assert shown["tool"] == "execute_refund"
    assert shown["arguments"] == {"order_id": "O-2" if how == "change" else "O-1"}
    assert lab.body(asked.result) == ("rejected" if how == "reject" else "approved")
    assert [step.attrs.get("as_approved") for step in lab.steps(Kind.TOOL)] == ([] if how == "reject" else [True])
    assert lab.run().summary().status is RunStatus.OK
    lab.replay_five_times()


def test_a_run_that_needs_an_approval_waits(laboratory: Callable[..., FrameworkLab]) -> None:
    lab = laboratory(PYDANTIC_AI_NEW)
    lab.provider.default = _one_refund
    lab.record(APPROVAL, "wait")
    assert lab.run().summary().status is RunStatus.WAITING
    lab.replay_five_times()
