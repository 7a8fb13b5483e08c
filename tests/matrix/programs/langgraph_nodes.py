"""A graph of one's own on LangGraph: a model node and a ToolNode.

python langgraph_nodes.py [async] [stream]
"""

from __future__ import annotations

import asyncio
from typing import Any

import desk
import langchain_tools
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

is_async, is_stream = desk.asked("async", "stream")
model = langchain_tools.model(is_stream).bind_tools(langchain_tools.TOOLS)


def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


async def ask_async(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await model.ainvoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("ask", ask_async if is_async else ask)
builder.add_node("tools", ToolNode(langchain_tools.TOOLS))
builder.add_edge(START, "ask")
builder.add_conditional_edges("ask", tools_condition)
builder.add_edge("tools", "ask")
graph = builder.compile()
QUESTION: Any = {"messages": [("user", desk.QUESTION)]}


def show(update: Any) -> None:
    for node, values in update.items():
        print(node, [message.type for message in values["messages"]], values["messages"][-1].content)


async def main_async() -> None:
    if is_stream:
        async for update in graph.astream(QUESTION, stream_mode="updates"):
            show(update)
    else:
        print((await graph.ainvoke(QUESTION))["messages"][-1].content)


def main() -> None:
    if is_stream:
        for update in graph.stream(QUESTION, stream_mode="updates"):
            show(update)
    else:
        print(graph.invoke(QUESTION)["messages"][-1].content)


if __name__ == "__main__":
    if is_async:
        asyncio.run(main_async())
    else:
        main()
