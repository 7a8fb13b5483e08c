"""A graph on LangGraph that keeps its conversation in an SQLite file.

python langgraph_saved.py [async] [stream]
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
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
is_async, is_stream = desk.asked("async", "stream")
model = langchain_tools.model(is_stream)
if not is_async:
    saver = SqliteSaver(sqlite3.connect(FILE, check_same_thread=False))
    graph = create_react_agent(model, langchain_tools.TOOLS, checkpointer=saver)


def show(state: Any) -> None:
    print(state["messages"][-1].content, len(state["messages"]))


async def main_async() -> None:
    async with AsyncSqliteSaver.from_conn_string(FILE) as async_saver:
        local = create_react_agent(model, langchain_tools.TOOLS, checkpointer=async_saver)
        show(await local.ainvoke({"messages": [("user", desk.QUESTION)]}, THREAD))


def main() -> None:
    """Two questions: a graph that can be found by its name is found again for the second."""
    show(graph.invoke({"messages": [("user", desk.QUESTION)]}, THREAD))
    show(graph.invoke({"messages": [("user", "When will it arrive?")]}, THREAD))


if __name__ == "__main__":
    if is_async:
        asyncio.run(main_async())
    else:
        main()
