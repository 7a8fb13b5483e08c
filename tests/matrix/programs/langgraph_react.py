"""LangGraph's ready-made agent.

python langgraph_react.py [async] [stream]
"""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import desk
import langchain_tools
from langgraph.prebuilt import create_react_agent

warnings.simplefilter("ignore")


def show(state: Any) -> None:
    messages = state["messages"]
    print(messages[-1].content, [message.type for message in messages])


async def main_async(graph: Any, stream: bool) -> None:
    asked = {"messages": [("user", desk.QUESTION)]}
    if stream:
        async for state in graph.astream(asked, stream_mode="values"):
            show(state)
    else:
        show(await graph.ainvoke(asked))


def main(graph: Any, stream: bool) -> None:
    asked = {"messages": [("user", desk.QUESTION)]}
    if stream:
        for state in graph.stream(asked, stream_mode="values"):
            show(state)
    else:
        show(graph.invoke(asked))


if __name__ == "__main__":
    is_async, is_stream = desk.asked("async", "stream")
    agent = create_react_agent(langchain_tools.model(is_stream), langchain_tools.TOOLS)
    if is_async:
        asyncio.run(main_async(agent, is_stream))
    else:
        main(agent, is_stream)
