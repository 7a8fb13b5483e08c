"""A graph on LangGraph that keeps its conversation in an SQLite file.

python langgraph_saved.py [async] [stream]
"""

from __future__ import annotations

import asyncio
import os
import warnings
from typing import Any

import desk
import langchain_tools
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.prebuilt import create_react_agent

warnings.simplefilter("ignore")
FILE = os.path.join(os.environ["OUTSIDE"], "conversation.db")
THREAD: Any = {"configurable": {"thread_id": "customer-17"}}


def show(state: Any) -> None:
    print(state["messages"][-1].content, len(state["messages"]))


async def main_async(stream: bool) -> None:
    async with AsyncSqliteSaver.from_conn_string(FILE) as saver:
        graph = create_react_agent(langchain_tools.model(stream), langchain_tools.TOOLS, checkpointer=saver)
        show(await graph.ainvoke({"messages": [("user", desk.QUESTION)]}, THREAD))
        show(await graph.ainvoke({"messages": [("user", "When will it arrive?")]}, THREAD))


def main(stream: bool) -> None:
    with SqliteSaver.from_conn_string(FILE) as saver:
        graph = create_react_agent(langchain_tools.model(stream), langchain_tools.TOOLS, checkpointer=saver)
        show(graph.invoke({"messages": [("user", desk.QUESTION)]}, THREAD))
        show(graph.invoke({"messages": [("user", "When will it arrive?")]}, THREAD))


if __name__ == "__main__":
    is_async, is_stream = desk.asked("async", "stream")
    if is_async:
        asyncio.run(main_async(is_stream))
    else:
        main(is_stream)
