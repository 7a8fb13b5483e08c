"""LangChain's agent of version 1.

python langchain_agent.py [async] [stream]
"""

from __future__ import annotations

import asyncio
from typing import Any

import desk
import langchain_tools
from langchain.agents import create_agent

QUESTION: Any = {"messages": [{"role": "user", "content": desk.QUESTION}]}


async def main_async(agent: Any, stream: bool) -> None:
    if stream:
        async for update in agent.astream(QUESTION, stream_mode="updates"):
            print(list(update))
    else:
        print((await agent.ainvoke(QUESTION))["messages"][-1].content)


def main(agent: Any, stream: bool) -> None:
    if stream:
        for update in agent.stream(QUESTION, stream_mode="updates"):
            print(list(update))
    else:
        print(agent.invoke(QUESTION)["messages"][-1].content)


if __name__ == "__main__":
    is_async, is_stream = desk.asked("async", "stream")
    built = create_agent(langchain_tools.model(is_stream), langchain_tools.TOOLS, system_prompt="Be fair.")
    if is_async:
        asyncio.run(main_async(built, is_stream))
    else:
        main(built, is_stream)
