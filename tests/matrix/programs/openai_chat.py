"""A plain loop on OpenAI's chat completions: tools are plain functions, run in parallel.

python openai_chat.py [async] [stream] [uvloop]
"""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import desk
from openai import AsyncOpenAI, OpenAI


def get_order(order_id: str) -> dict[str, Any]:
    return desk.read_order(order_id)


def get_policy(category: str) -> dict[str, Any]:
    return desk.read_policy(category)


def execute_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    return desk.pay_refund(order_id, amount, currency)


TOOLS = {"get_order": get_order, "get_policy": get_policy, "execute_refund": execute_refund}
SCHEMAS = [{"type": "function", "function": {"name": name, "parameters": desk.parameters(name)}} for name in TOOLS]


def run_tool(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    result = TOOLS[function["name"]](**json.loads(function["arguments"]))
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}


def request(messages: list[Any]) -> dict[str, Any]:
    return {"model": desk.MODEL, "messages": messages, "tools": SCHEMAS, "temperature": 0}


def add_chunk(message: dict[str, Any], chunk: Any) -> None:
    """Put a chunk of a stream into the message."""
    for choice in chunk.choices:
        message["content"] = (message.get("content") or "") + (choice.delta.content or "")
        for delta in choice.delta.tool_calls or []:
            calls = message.setdefault("tool_calls", [])
            if delta.index == len(calls):
                function = {"name": delta.function.name, "arguments": ""}
                calls.append({"id": delta.id, "type": "function", "function": function})
            calls[delta.index]["function"]["arguments"] += delta.function.arguments or ""


def main(stream: bool) -> None:
    client = OpenAI()
    messages: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        if stream:
            message: dict[str, Any] = {"role": "assistant", "content": None}
            with client.chat.completions.create(**request(messages), stream=True) as chunks:
                for chunk in chunks:
                    add_chunk(message, chunk)
        else:
            response = client.chat.completions.create(**request(messages))
            message = response.choices[0].message.model_dump(exclude_none=True)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        with ThreadPoolExecutor(max_workers=2) as pool:
            messages += pool.map(run_tool, message["tool_calls"])
    print(message["content"], len(messages))


async def main_async(stream: bool) -> None:
    client = AsyncOpenAI()
    messages: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        if stream:
            message: dict[str, Any] = {"role": "assistant", "content": None}
            async with await client.chat.completions.create(**request(messages), stream=True) as chunks:
                async for chunk in chunks:
                    add_chunk(message, chunk)
        else:
            response = await client.chat.completions.create(**request(messages))
            message = response.choices[0].message.model_dump(exclude_none=True)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        messages += await asyncio.gather(*(asyncio.to_thread(run_tool, call) for call in message["tool_calls"]))
    print(message["content"], len(messages))


if __name__ == "__main__":
    is_async, is_stream, is_native = desk.asked("async", "stream", "uvloop")
    if is_native:
        import uvloop

        uvloop.run(main_async(is_stream))
    elif is_async:
        asyncio.run(main_async(is_stream))
    else:
        main(is_stream)
    print("handled", file=sys.stderr)
