"""Graphs of LangGraph, recorded as they are and replayed: streams, subgraphs, savers, interrupts, stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Effect, Kind, RunStatus, StepStatus
from tests.matrix.versions import LANGGRAPH_SQLITE_NEW, LANGGRAPH_SQLITE_OLD, Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab
from tests.support.scripted_server import Received, Reply

pytestmark = pytest.mark.wide
BOTH = [pytest.param(LANGGRAPH_SQLITE_NEW, id="new"), pytest.param(LANGGRAPH_SQLITE_OLD, id="old")]
Labs = Callable[[Versions], FrameworkLab]
HEAD = """
from agentdbg.recording.start import install
install()
import asyncio, operator, os, sqlite3, sys
from typing import Annotated, TypedDict
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

def note(what):
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write(what + "\\n")

@tool
def weather(city: str) -> str:
    "Weather of a city."
    note(city)
    return f"sunny in {city}"

@tool
def order(item: str, count: int) -> str:
    "Order something."
    note(item)
    return f"ordered {count} {item}"

TOOLS = [weather, order]
BASE = f"http://127.0.0.1:{os.environ['PORT']}/v1"
MODEL = ChatOpenAI(model="gpt-x", base_url=BASE, api_key="k", max_retries=0).bind_tools(TOOLS)
ASKED = {"messages": [("user", "go")]}

def chat(state):
    return {"messages": [MODEL.invoke(state["messages"])]}

async def achat(state):
    return {"messages": [await MODEL.ainvoke(state["messages"])]}

def build(**options):
    graph = StateGraph(MessagesState)
    graph.add_node("chat", RunnableLambda(chat, achat))
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_edge(START, "chat")
    graph.add_conditional_edges("chat", tools_condition)
    graph.add_edge("tools", "chat")
    return graph.compile(**options)
"""
LOOP = (
    HEAD
    + """
agent = build()

async def stream(mode):
    return [kind async for kind in agent.astream(ASKED, stream_mode=mode)]

if __name__ == "__main__":
    how, mode = sys.argv[1:]
    if how == "invoke":
        agent.invoke(ASKED)
    elif how == "ainvoke":
        asyncio.run(agent.ainvoke(ASKED))
    elif how == "stream":
        list(agent.stream(ASKED, stream_mode=mode.split(",")))
    else:
        asyncio.run(stream(mode))
"""
)
NESTED = (
    HEAD
    + """
desk = build()
desk.name = "desk"
outer = StateGraph(MessagesState)
outer.add_node("desk", desk)
outer.add_node("beside", lambda state: {"messages": [MODEL.invoke("beside")]})
outer.add_node("end", lambda state: {"messages": [("ai", str(len(state["messages"])))]})
outer.add_edge(START, "desk")
outer.add_edge(START, "beside")
outer.add_edge("desk", "end")
outer.add_edge("beside", "end")
agent = outer.compile()

if __name__ == "__main__":
    agent.invoke(ASKED) if sys.argv[1] == "sync" else asyncio.run(agent.ainvoke(ASKED))
"""
)
SAVED = (
    HEAD
    + """
from langgraph.checkpoint.sqlite import SqliteSaver
connection = sqlite3.connect(os.path.join(os.environ["OUTSIDE"], "check.sqlite"), check_same_thread=False)
agent = build(checkpointer=SqliteSaver(connection), **({"interrupt_before": ["tools"]} if "stop" in sys.argv else {}))

if __name__ == "__main__":
    asked = None if sys.argv[2] == "on" else ASKED
    agent.invoke(asked, {"configurable": {"thread_id": sys.argv[1]}})
"""
)
REFUND = (
    HEAD
    + """
from langgraph.checkpoint.sqlite import SqliteSaver
connection = sqlite3.connect(os.path.join(os.environ["OUTSIDE"], "check.sqlite"), check_same_thread=False)

class Case(TypedDict):
    amount: int
    status: str

def ask(case):
    answer = interrupt({"question": "refund?", "amount": case["amount"], "allowed": ["approve", "reject"]})
    return {"status": answer["type"]}

def act(case):
    return {"status": "done"}

graph = StateGraph(Case)
graph.add_node("plan", lambda case: {"amount": 40, "status": "planned"})
graph.add_node("ask", ask)
graph.add_node("act", act)
graph.add_edge(START, "plan")
graph.add_edge("plan", "ask")
graph.add_edge("ask", "act")
agent = graph.compile(checkpointer=SqliteSaver(connection))

if __name__ == "__main__":
    config = {"configurable": {"thread_id": "t1"}}
    if sys.argv[1] == "ask":
        agent.invoke({"amount": 1}, config)
    else:
        if sys.argv[1] == "change":
            agent.update_state(config, {"amount": 4000})
        agent.invoke(Command(resume={"type": sys.argv[2], "who": "ada"}), config)
"""
)
CHANGED = REFUND.replace(
    '"amount": case["amount"]', '"amount": 40'
)  # what is asked reads the same; what it is about does not
MEMORY = (
    HEAD
    + """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

def remember(state, *, store: BaseStore):
    store.put(("user", "ada"), "tea", {"green": True})
    found = store.search(("user", "ada"))
    item = store.get(("user", "ada"), "tea")
    return {"messages": [("ai", f"{len(found)} {item.value} {item.created_at}")]}

@tool
def confirm(what: str) -> str:
    "Ask a person."
    return str(interrupt({"question": what}))

def call(state):
    return {"messages": [("user", "x"), {"role": "assistant", "content": "", "tool_calls": [
        {"name": "confirm", "args": {"what": "really?"}, "id": "c1", "type": "tool_call"}]}]}

import agentdbg

@agentdbg.agent
def main():
    graph = StateGraph(MessagesState)
    graph.add_node("remember", remember)
    graph.add_node("call", call)
    graph.add_node("tools", ToolNode([confirm]))
    graph.add_edge(START, "remember")
    graph.add_edge("remember", "call")
    graph.add_edge("call", "tools")
    agent = graph.compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    config = {"configurable": {"thread_id": "m"}}
    agent.invoke(ASKED, config)
    if "leave" in sys.argv:
        return
    agent.invoke(Command(resume="yes"), config)
    return len(list(agent.get_state_history(config)))

if __name__ == "__main__":
    main()
"""
)


def two_rounds(request: Received) -> Reply:
    """Two reads side by side, then a write, then the answer."""
    answers = sum(message["role"] == "tool" for message in request.json["messages"])
    if request.json["messages"][-1]["content"] == "beside":
        return Reply(text="beside it")
    if answers == 0:
        return Reply(tool_calls=(("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"})))
    return Reply(tool_calls=(("order", {"item": "tea", "count": 2}),)) if answers == 2 else Reply(text="done")


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[Labs]:
    made: list[FrameworkLab] = []

    def make(versions: Versions) -> FrameworkLab:
        lab = FrameworkLab(tmp_path, environment(*versions.requirements, python=versions.python))
        lab.provider.default = two_rounds
        made.append(lab)
        return lab

    yield make
    for lab in made:
        lab.provider.stop()


@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize(
    ("how", "mode"),
    [
        ("invoke", "-"),
        ("ainvoke", "-"),
        ("stream", "values,updates"),
        ("stream", "messages"),
        ("astream", "updates"),
        ("astream", "messages"),
    ],
)
def test_a_graph_is_one_agent_with_its_nodes_and_states(labs: Labs, versions: Versions, how: str, mode: str) -> None:
    lab = labs(versions)
    lab.record(LOOP, how, mode)
    kinds = [step.kind for step in lab.steps() if step.kind is not Kind.EFFECT]
    assert kinds.count(Kind.AGENT) == 1
    assert (kinds.count(Kind.MODEL), kinds.count(Kind.TOOL)) == (3, 3)
    nodes = {step.id: step.name for step in lab.steps(Kind.NODE)}
    assert {nodes[str(step.parent)] for step in lab.steps(Kind.MODEL)} == {"chat"}
    assert {nodes[str(step.parent)] for step in lab.steps(Kind.TOOL)} == {"tools"}
    assert [step.name for step in lab.steps(Kind.CHECKPOINT)] == ["__start__", "chat", "tools", "chat", "tools", "chat"]
    first = lab.steps(Kind.TOOL)[:2]
    assert len({step.lane for step in first}) == 2
    lab.replay_five_times()


@pytest.mark.parametrize("versions", BOTH)
@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_subgraph_is_a_nested_agent(labs: Labs, versions: Versions, how: str) -> None:
    lab = labs(versions)
    lab.record(NESTED, how)
    outer, inner = lab.steps(Kind.AGENT)
    by_id = {step.id: step for step in lab.steps()}
    assert (by_id[str(inner.parent)].kind, by_id[str(inner.parent)].name, inner.name) == (Kind.NODE, "desk", "desk")
    assert outer.parent is None
    lab.replay_five_times()


@pytest.mark.parametrize("versions", BOTH)
def test_a_saved_conversation_replays_from_what_was_read(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    for thread in ("t1", "t2", "t1"):
        lab.record(SAVED, thread, "ask")
    assert [lab.run(f"run-{n}").summary().thread_id for n in (1, 2, 3)] == ["t1", "t2", "t1"]
    read = lab.steps(Kind.READ, address="run-3")[0]
    assert (read.name, read.effect) == ("checkpointer.get_tuple", Effect.READ)
    for number in (1, 2, 3):
        lab.replay_five_times(f"run-{number}")  # and the database file is not touched: the lab compares it


@pytest.mark.parametrize("versions", BOTH)
def test_an_interrupt_is_an_approval_and_its_resume_continues_the_run(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(REFUND, "ask")
    lab.record(REFUND, "resume", "approve")
    asked, answered = lab.run("run-1").summary(), lab.run("run-2").summary()
    assert (asked.status, answered.status) == (RunStatus.WAITING, RunStatus.OK)
    assert (asked.thread_id, answered.meta["continues"]) == ("t1", "run-1")
    question = lab.steps(Kind.APPROVAL, address="run-1")[0]
    decision = lab.steps(Kind.APPROVAL, address="run-2")[0]
    assert (question.status, decision.status) == (StepStatus.PARTIAL, StepStatus.OK)
    about = lab.body(question.arguments, "run-1")
    assert about["question"]["question"] == "refund?"
    assert about["state"] == {"amount": 40, "status": "planned"}
    assert about["allowed"] == ["approve", "reject"]
    assert lab.body(decision.result, "run-2") == {"type": "approve", "who": "ada"}
    facts = decision.attrs
    assert (facts["who"], facts["asked_in"], facts["in_range"], facts["state_changed"]) == ("ada", "run-1", True, False)
    assert facts["state_shown_sha256"] == facts["state_sha256"] == question.attrs["state_sha256"]
    lab.replay_five_times("run-1")
    lab.replay_five_times("run-2")


@pytest.mark.parametrize("versions", BOTH)
def test_a_decision_about_another_state_and_out_of_range_says_so(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(REFUND, "ask")
    lab.record(CHANGED, "change", "double it")
    decision = lab.steps(Kind.APPROVAL, address="run-2")[0]
    assert lab.body(decision.arguments, "run-2")["state"]["amount"] == 4000
    assert (decision.attrs["in_range"], decision.attrs["state_changed"]) == (False, True)


@pytest.mark.parametrize("versions", BOTH)
def test_a_graph_told_to_stop_before_a_node_waits_and_goes_on(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(SAVED, "t1", "ask", "stop")
    lab.record(SAVED, "t1", "on", "stop")
    assert lab.run("run-1").summary().status is RunStatus.WAITING
    decision = lab.steps(Kind.APPROVAL, address="run-2")[0]
    assert lab.body(decision.result, "run-2") == "continue"
    assert (decision.attrs["asked_in"], decision.attrs["state_changed"]) == ("run-1", False)
    for number in (1, 2):
        lab.replay_five_times(f"run-{number}")


@pytest.mark.parametrize("versions", BOTH)
def test_memory_and_an_interrupt_inside_a_tool(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(MEMORY)
    waits, done = (step for step in lab.steps(Kind.TOOL) if step.name == "confirm")
    assert (waits.status, done.status) == (StepStatus.PARTIAL, StepStatus.OK)
    assert [step.name for step in lab.steps(Kind.TOOL) if step.name.startswith("store.")] == ["store.put"]
    reads = [step.name for step in lab.steps(Kind.READ)]
    assert [name for name in reads if name.startswith("store.")] == ["store.search", "store.get"]
    assert lab.run().summary().status is RunStatus.OK
    lab.replay_five_times()


@pytest.mark.parametrize("versions", BOTH)
def test_a_run_that_ends_at_an_interrupt_inside_a_tool_waits(labs: Labs, versions: Versions) -> None:
    lab = labs(versions)
    lab.record(MEMORY, "leave")
    assert lab.run().summary().status is RunStatus.WAITING
    lab.replay_five_times()
