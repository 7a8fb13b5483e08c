"""Programs on smolagents, recorded as they are: tool calling, code that an agent writes, managed agents, streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Kind
from tests.matrix.scenario import refund_desk
from tests.matrix.versions import SMOLAGENTS_NEW, SMOLAGENTS_OLD, Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab
from tests.support.scripted_server import Received, Reply

pytestmark = pytest.mark.wide
BOTH = [pytest.param(SMOLAGENTS_NEW, id="new"), pytest.param(SMOLAGENTS_OLD, id="old")]
PROGRAM = '''
import os, sys
import agentdbg
import smolagents
from smolagents import CodeAgent, Tool, ToolCallingAgent, tool

@tool
def get_order(order_id: str) -> dict:
    """Read an order.

    Args:
        order_id: Which one.
    """
    import os
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write("order\\n")
    return {"order_id": order_id, "state": "delivered-late"}

class GetPolicy(Tool):
    name = "get_policy"
    description = "Read a policy."
    inputs = {"category": {"type": "string", "description": "Of what."}}
    output_type = "string"

    def forward(self, category: str):
        return "refund-policy-7"

@tool
def execute_refund(order_id: str, amount: float, currency: str) -> dict:
    """Pay the money back.

    Args:
        order_id: For which order.
        amount: How much.
        currency: Of which currency.
    """
    import os
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write("refund\\n")
    return {"refund_id": "R-5501"}

def model(name):
    kind = getattr(smolagents, "OpenAIModel", None) or smolagents.OpenAIServerModel
    return kind(name, api_base=os.environ["OPENAI_BASE_URL"], api_key="k")

@agentdbg.agent
def main(mode):
    tools = [get_order, GetPolicy(), execute_refund]
    if mode == "code":
        return str(CodeAgent(tools=tools, model=model("gpt-code"), verbosity_level=-1).run("refund O-7741"))
    payer = ToolCallingAgent(tools=tools, model=model("gpt-x"), name="payer", description="pays", verbosity_level=-1)
    if mode == "managed":
        boss = CodeAgent(tools=[], managed_agents=[payer], model=model("gpt-boss"), verbosity_level=-1)
        return str(boss.run("refund O-7741"))
    if mode == "stream":
        return [type(step).__name__ for step in payer.run("refund O-7741", stream=True)]
    return str(payer.run("refund O-7741"))

if __name__ == "__main__":
    main(sys.argv[1])
'''
CODE = """order = get_order("O-7741")
policy = get_policy(category="electronics")
refund = execute_refund(order["order_id"], 42.5, "EUR")
final_answer(refund["refund_id"] + " under " + policy)"""
TOOLS = ["execute_refund", "get_order", "get_policy"]


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Callable[[Versions], FrameworkLab]]:
    def make(versions: Versions) -> FrameworkLab:
        lab = FrameworkLab(tmp_path, environment(*versions.requirements, python=versions.python))
        lab.provider.default = _answer
        made.append(lab)
        return lab

    made: list[FrameworkLab] = []
    yield make
    for lab in made:
        lab.provider.stop()


def _answer(received: Received) -> Reply:
    code = {"gpt-code": CODE, "gpt-boss": 'found = payer("pay it")\nfinal_answer("done")'}.get(received.json["model"])
    if code is None:
        return refund_desk(received)
    marked = (
        f"<code>\n{code}\n</code>" if "<code>" in json.dumps(received.json) else f"Code:\n```py\n{code}\n```<end_code>"
    )
    return Reply(text=f"Thought: I pay.\n{marked}")


@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize("mode", ["whole", "stream"])
def test_tools_are_steps_of_the_agent(laboratory: Callable[..., FrameworkLab], versions: Versions, mode: str) -> None:
    lab = laboratory(versions)
    lab.record(PROGRAM, mode)
    assert lab.outline()[:2] == ["agent main", "  agent payer"]
    turns = 3 if versions is SMOLAGENTS_NEW else 4  # old versions take the first of a reply's calls alone
    assert sorted(lab.outline()[2:]) == sorted(["    model gpt-x"] * turns + [f"    tool {name}" for name in TOOLS])
    policy = lab.tools()["get_policy"]
    assert lab.body(policy.arguments) == {"category": "electronics"} and not policy.holes
    lab.replay_five_times()


@pytest.mark.parametrize("versions", BOTH)
def test_the_code_that_an_agent_writes_runs_again_and_its_tools_do_not(
    laboratory: Callable[..., FrameworkLab], versions: Versions
) -> None:
    lab = laboratory(versions)
    lab.record(PROGRAM, "code")
    assert lab.outline() == [
        "agent main",
        "  agent CodeAgent",
        "    model gpt-code",
        "    tool get_order",
        "    tool get_policy",
        "    tool execute_refund",
    ]
    refund = lab.tools()["execute_refund"]
    assert lab.body(refund.arguments) == {"order_id": "O-7741", "amount": 42.5, "currency": "EUR"}
    assert lab.returned() == "R-5501 under refund-policy-7"
    assert (lab.outside / "log").read_text().split() == ["order", "refund"]
    lab.replay_five_times()


@pytest.mark.parametrize("versions", BOTH)
def test_a_managed_agent_is_below_its_manager(laboratory: Callable[..., FrameworkLab], versions: Versions) -> None:
    lab = laboratory(versions)
    lab.record(PROGRAM, "managed")
    manager, payer = lab.steps(Kind.AGENT)[1:]
    assert (manager.name, payer.name, payer.parent) == ("CodeAgent", "payer", manager.id)
    assert all(step.parent == payer.id for step in lab.steps(Kind.TOOL))
    assert sorted(lab.tools()) == TOOLS
    lab.replay_five_times()
