"""Graphs of LangGraph to be recorded and restored."""

from __future__ import annotations

DESK = """\
import asyncio, operator, os, random, sqlite3, sys, time, uuid
from dataclasses import dataclass
from typing import Annotated, TypedDict
if "recorded" not in sys.argv:
    from agentdbg.recording.start import install
    install()
import agentdbg
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.types import Command, interrupt
try:
    from langgraph.types import Send
except ImportError:
    from langgraph.constants import Send

FORM, SAVER, ENTRY, *MORE = sys.argv[1:]
CAN = {"agentdbg": {"can_resume": True}}


def note(what):
    if "quiet" in MORE:
        return
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write(what + "\\n")


@agentdbg.tool(effect="read")
def look(item, count=0):
    note(item)
    return f"{item} {count}"


@agentdbg.tool(effect="write")
def put(item, at):
    note(f"put {item}")
    return "put"


@dataclass
class Order:
    name: str
    count: int


class State(TypedDict):
    messages: Annotated[list, add_messages]
    seen: Annotated[list, operator.add]
    order: Order
    place: str
    steps: RemainingSteps


class One(TypedDict):
    item: str


def plan(state):
    at = f"{time.time()} {uuid.uuid4()} {random.random()}"
    order = Order("pen", 1 if "alone" in MORE else 3)
    return {"order": order, "place": at, "messages": [AIMessage("planned", id=None)]}


def spread(state):
    return [Send("check", {"item": f"item {n}"}) for n in range(state["order"].count)]


def check(one):
    return {"seen": [look(one["item"])]}


async def acheck(one):
    await asyncio.sleep(0.01)
    return {"seen": [look(one["item"])]}


def left(state):
    return {"seen": [look("left", state["steps"])]}


def right(state):
    return {"seen": [look("right", len(state["messages"]))]}


def settle(state):
    put(state["seen"][-1], [state["place"], time.time(), len(state["messages"]), state["order"].name])
    return {"messages": [AIMessage(f"settled {state['steps']}")]}


def ask(state):
    answer = interrupt({"question": "pay?", "order": state["order"].name})
    return {"seen": [look("answered", answer)]}


def done(state):
    return {"messages": [AIMessage(look("done", str(uuid.uuid4())))]}


class Inner(TypedDict):
    messages: Annotated[list, add_messages]


def inner(state):
    return {"messages": [AIMessage(look("inner", len(state["messages"])))]}


def build(saver):
    below = StateGraph(Inner)
    below.add_node("first", inner)
    below.add_node("second", inner)
    below.add_edge(START, "first")
    below.add_edge("first", "second")
    graph = StateGraph(State)
    for name, node in (("plan", plan), ("left", left), ("right", right), ("settle", settle)):
        graph.add_node(name, node, metadata=CAN)
    from langchain_core.runnables import RunnableLambda
    graph.add_node("check", RunnableLambda(check, acheck), metadata=CAN)
    graph.add_node("below", below.compile(), metadata=CAN)
    graph.add_node("done", done, metadata=CAN)
    if "ask" in MORE:
        graph.add_node("ask", ask, metadata=CAN)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", spread, ["check"])
    graph.add_edge("check", "left")
    graph.add_edge("left" if "alone" in MORE else "check", "right")
    graph.add_edge("right" if "alone" in MORE else ["left", "right"], "below")
    graph.add_conditional_edges("below", lambda state: "settle" if state["seen"] else END, ["settle", END])
    graph.add_edge("settle", "ask" if "ask" in MORE else "done")
    if "ask" in MORE:
        graph.add_edge("ask", "done")
    graph.add_edge("done", END)
    stops = {"interrupt_after": ["below"]} if "after" in MORE else {}
    stops = {"interrupt_before": ["settle"]} if "before" in MORE else stops
    return graph.compile(checkpointer=saver, **stops)


GIVEN = {"messages": [HumanMessage("go")], "seen": []}
CONFIG = {"configurable": {"thread_id": "t1"}, "recursion_limit": 30}


def saver():
    if SAVER == "memory":
        return MemorySaver()
    if SAVER == "sqlite" and FORM in ("invoke", "stream"):
        from langgraph.checkpoint.sqlite import SqliteSaver
        place = os.path.join(os.environ["OUTSIDE"], "check.sqlite")
        return SqliteSaver(sqlite3.connect(place, check_same_thread=False))
    return None


def call(graph, given):
    if FORM == "invoke":
        return graph.invoke(given, CONFIG)
    if FORM == "ainvoke":
        return asyncio.run(within(graph, lambda graph: graph.ainvoke(given, CONFIG)))
    if FORM == "stream":
        return [str(item) for item in graph.stream(given, CONFIG, stream_mode=["values", "updates", "custom"])]

    async def take(graph):
        return [str(item) async for item in graph.astream(given, CONFIG, stream_mode="updates")]

    return asyncio.run(within(graph, take))


async def within(graph, function):
    if SAVER != "sqlite":
        return await function(graph)
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    async with AsyncSqliteSaver.from_conn_string(os.path.join(os.environ["OUTSIDE"], "check.sqlite")) as saver:
        return await function(build(saver))


def whole():
    graph = build(saver())
    found = call(graph, GIVEN)
    if "ask" in MORE and "leave" not in MORE:
        found = call(graph, Command(resume="yes"))
    elif ("before" in MORE or "after" in MORE) and "leave" not in MORE:
        found = call(graph, None)
    return str(found)[:2000]


@agentdbg.agent
def desk(item):
    look("before", item)
    print(str(time.time()))
    return whole() + look("after", str(uuid.uuid4()))


@agentdbg.agent
def again():
    return str(call(build(saver()), Command(resume="yes")))[:2000]


if ENTRY == "root":
    agent = build(saver())

if __name__ == "__main__":
    if ENTRY == "root":
        call(agent, Command(resume="yes") if "resume" in MORE else GIVEN)
        if "twice" in MORE:
            call(agent, GIVEN)
    elif ENTRY == "agent":
        desk("pen")
    elif ENTRY == "again":
        again()
    else:
        whole()
"""
"""A graph with sends, parallel nodes, a subgraph, a managed value, a dataclass and messages in its state."""
ODD = """\
import threading, time
from typing import Annotated, Any, TypedDict
from agentdbg.recording.start import install
install()
import agentdbg
from langgraph.channels import UntrackedValue
from langgraph.graph import START, StateGraph

YES = {"agentdbg": {"can_resume": True}}
NO = {"agentdbg": {"can_resume": False, "unsafe_reasons": ["the bank has it"]}}
go = threading.Event()


class State(TypedDict):
    held: Any
    kept: Annotated[Any, UntrackedValue]
    last: str


@agentdbg.tool(effect="read")
def look(item):
    return item


def aside():
    look("aside")
    go.wait(20)
    look("aside too")


def leave(state):
    threading.Thread(target=aside).start()
    time.sleep(0.2)
    return {"last": "leave"}


def join(state):
    go.set()
    time.sleep(0.2)
    return {"last": look("join")}


graph = StateGraph(State)
nodes = [
    ("plain", lambda state: {"last": "plain"}, None),
    ("unsafe", lambda state: {"last": "unsafe"}, NO),
    ("locked", lambda state: {"held": threading.Lock()}, YES),
    ("freed", lambda state: {"held": None}, YES),
    ("keep", lambda state: {"kept": 1}, YES),
    ("dropped", lambda state: {"last": "dropped"}, YES),
    ("leave", leave, YES),
    ("join", join, YES),
]
before = START
for name, node, metadata in nodes:
    graph.add_node(name, node, metadata=metadata)
    graph.add_edge(before, name)
    before = name
agent = graph.compile()

if __name__ == "__main__":
    agent.invoke({"last": ""})
"""
