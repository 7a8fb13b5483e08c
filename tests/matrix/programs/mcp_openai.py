"""A loop on OpenAI's chat completions whose tools are on an MCP server (stdio).

python mcp_openai.py [stream]
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import desk
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from openai import AsyncOpenAI
from openai_chat import add_chunk

SERVER = StdioServerParameters(
    command=sys.executable,
    args=[str(Path(__file__).with_name("mcp_desk_server.py"))],
    env=dict(os.environ),
)


async def run_tool(session: ClientSession, call: dict[str, Any]) -> dict[str, Any]:
    result: Any = await session.call_tool(call["function"]["name"], json.loads(call["function"]["arguments"]))
    return {"role": "tool", "tool_call_id": call["id"], "content": result.content[0].text}


async def main(stream: bool) -> None:
    client = AsyncOpenAI()
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = (await session.list_tools()).tools
        schemas: Any = [
            {"type": "function", "function": {"name": tool.name, "parameters": desk.parameters(tool.name)}}
            for tool in listed
        ]
        messages: list[Any] = [{"role": "user", "content": desk.QUESTION}]
        while True:
            asked: Any = {"model": desk.MODEL, "messages": messages, "tools": schemas}
            if stream:
                message: dict[str, Any] = {"role": "assistant", "content": None}
                async with await client.chat.completions.create(**asked, stream=True) as chunks:
                    async for chunk in chunks:
                        add_chunk(message, chunk)
            else:
                response = await client.chat.completions.create(**asked)
                message = response.choices[0].message.model_dump(exclude_none=True)
            messages.append(message)
            if not message.get("tool_calls"):
                break
            messages += await asyncio.gather(*(run_tool(session, call) for call in message["tool_calls"]))
        print(message["content"], len(messages))


if __name__ == "__main__":
    _, is_stream = desk.asked("async", "stream")
    asyncio.run(main(is_stream))
