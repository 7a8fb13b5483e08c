"""Tools and retrievers of LangChain, recorded as they are and replayed; agents of ``langchain.agents``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentdbg.compare.inputs import snippets
from agentdbg.model.records import Effect, Kind, StepStatus
from tests.matrix.versions import LANGGRAPH_NEW, LANGGRAPH_OLD, Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab
from tests.support.scripted_server import Received, Reply

pytestmark = pytest.mark.wide
BOTH = [pytest.param(LANGGRAPH_NEW, id="new"), pytest.param(LANGGRAPH_OLD, id="old")]
Labs = Callable[[Versions], FrameworkLab]
HEAD = """
from agentdbg.recording.start import install
install()
import agentdbg, asyncio, os, sys
from typing import Annotated
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import InjectedToolArg, StructuredTool, ToolException, tool

MODEL = {"model": "gpt-x", "base_url": f"http://127.0.0.1:{os.environ['PORT']}/v1", "api_key": "k"}

def note(what):
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write(what + "\\n")
"""
TOOLS = (
    HEAD
    + """
Name, Thing = Annotated[str, InjectedToolArg], Annotated[object, InjectedToolArg]

@tool
def place(state: str, count: int, config_name: Name = "", store: Thing = None) -> str:
    "Somewhere in a federal state."
    note(state)
    return f"{count} in {state}"

@tool(response_format="content_and_artifact")
def table(rows: int):
    "Rows, and what they were made of."
    note("table")
    return f"{rows} rows", {"rows": [(n, str(n)) for n in range(rows)]}

def broken(why: str) -> str:
    "Fails."
    note("broken")
    raise ToolException(f"cannot: {why}")

soft = StructuredTool.from_function(broken, name="soft", handle_tool_error=True)
hard = StructuredTool.from_function(broken, name="hard")

@tool
@agentdbg.tool(effect="read")
def declared(key: str) -> str:
    "Both a tool of the framework's and a declared one."
    note(key)
    return key.upper()

def call(one, **args):
    return one.invoke({"type": "tool_call", "name": one.name, "args": args, "id": f"call-{one.name}"})

@agentdbg.agent
def main():
    found = [
        call(place, state="Texas", count=2, config_name="plain", store=object()),
        table.invoke({"rows": 2}),
        call(table, rows=2),
        call(soft, why="it is late"),
        declared.invoke({"key": "k"}),
    ]
    assert type(found[0]) is ToolMessage and found[2].artifact == {"rows": [(0, "0"), (1, "1")]}, found
    assert found[3].status == "error"
    for attempt in (lambda: hard.invoke({"why": "no"}), lambda: place.invoke({"count": "many"})):
        try:
            attempt()
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    found.append(asyncio.run(place.ainvoke({"state": "Utah", "count": 1})))
    agentdbg.final_state([repr(each) for each in found])

if __name__ == "__main__":
    main()
"""
)
RETRIEVER = (
    HEAD
    + """
class Handbook(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        note(query)
        text, facts = "Refunds are paid within thirty days.", {"source": "policy.md"}
        return [Document(page_content=text, metadata=facts, id="d1")]

from langchain_openai import ChatOpenAI

@agentdbg.agent
def main():
    book = Handbook()
    found = book.invoke("refund") + asyncio.run(book.ainvoke("refund again"))
    assert type(found[0]) is Document and found[0].metadata == {"source": "policy.md"}
    return ChatOpenAI(**MODEL).invoke("Answer from: " + found[0].page_content).content

if __name__ == "__main__":
    main()
"""
)
AGENT = (
    HEAD
    + """
from langchain_openai import ChatOpenAI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

@tool
def order(item: str) -> str:
    "Order something."
    note(item)
    return f"ordered {item}"

guarded = HumanInTheLoopMiddleware(interrupt_on={"order": {"allowed_decisions": ["approve", "reject"]}})
model, saver = ChatOpenAI(**MODEL), InMemorySaver()
agent = create_agent(model, [order], middleware=[guarded], checkpointer=saver, name="shop")

@agentdbg.agent
def main():
    config = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "tea please")]}, config)
    return agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)["messages"][-1].content

if __name__ == "__main__":
    main()
"""
)


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[Labs]:
    made: list[FrameworkLab] = []

    def make(versions: Versions) -> FrameworkLab:
        lab = FrameworkLab(tmp_path, environment(*versions.requirements, python=versions.python))
        made.append(lab)
        return lab

    yield make
    for lab in made:
        lab.provider.stop()


@pytest.mark.parametrize("versions", BOTH)
def test_tools_are_steps_and_give_a_replay_the_same_objects(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(TOOLS)
    steps = lab.steps(Kind.TOOL)
    names = ["place", "table", "table", "soft", "declared", "hard", "place", "place"]
    assert [step.name for step in steps] == names
    first = steps[0]
    assert lab.body(first.arguments) == {"state": "Texas", "count": 2, "config_name": "plain"}
    assert (first.attrs["call_id"], first.effect) == ("call-place", Effect.EXTERNAL)
    assert steps[4].effect is Effect.READ
    assert steps[3].status is StepStatus.OK
    assert [step.error.type for step in steps if step.error is not None] == ["ToolException", "ValidationError"]
    lab.replay_five_times()


@pytest.mark.parametrize("versions", BOTH)
def test_a_retriever_is_one_step_with_its_documents(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.provider.default = Reply(text="In thirty days.")
    lab.record(RETRIEVER)
    first, second = lab.steps(Kind.RETRIEVAL)
    assert lab.body(first.arguments) == {"query": "refund"}
    (document,) = lab.body(second.result)
    assert {name: document[name] for name in ("id", "source", "text")} == {
        "id": "d1",
        "source": "policy.md",
        "text": "Refunds are paid within thirty days.",
    }
    source = lab.run()
    held = snippets(source, next(step for step in source.steps() if step.kind is Kind.MODEL))
    source.close()
    assert [snippet.id for snippet in held] == ["d1"]
    lab.replay_five_times()


def test_an_approval_of_the_middleware_names_tool_and_range(labs: Labs) -> None:
    lab = labs(LANGGRAPH_NEW)

    def shop(request: Received) -> Reply:
        answered = request.json["messages"][-1]["role"] == "tool"
        return Reply(text="done") if answered else Reply(tool_calls=(("order", {"item": "tea"}),))

    lab.provider.default = shop
    lab.record(AGENT)
    asked, decided = lab.steps(Kind.APPROVAL)
    assert asked.name == decided.name == "run order?"
    assert lab.body(decided.arguments)["allowed"] == ["approve", "reject"]
    assert (decided.attrs["decided"], decided.attrs["in_range"]) == (["approve"], True)
    assert {step.name for step in lab.steps(Kind.AGENT)} == {"main", "shop"}
    lab.replay_five_times()
