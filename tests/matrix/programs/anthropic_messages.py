"""A plain loop on Anthropic's messages.

python anthropic_messages.py [async] [stream]
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import desk
from anthropic import Anthropic, AsyncAnthropic


def get_order(order_id: str) -> dict[str, Any]:
    return desk.read_order(order_id)


def get_policy(category: str) -> dict[str, Any]:
    return desk.read_policy(category)


def execute_refund(*, order_id: str, amount: float, currency: str = "EUR") -> dict[str, Any]:
    return desk.pay_refund(order_id, amount, currency)


TOOLS: list[Any] = [{"name": name, "input_schema": desk.parameters(name)} for name in desk.SCHEMAS]


def run_tool(block: Any) -> dict[str, Any]:
    tools = {"get_order": get_order, "get_policy": get_policy, "execute_refund": execute_refund}
    result = tools[block.name](**block.input)
    return {"type": "tool_result", "tool_use_id": block.id, "content": json.dumps(result)}


def request(messages: list[Any]) -> dict[str, Any]:
    system = [{"type": "text", "text": "Be fair."}]
    return {"model": desk.MODEL, "max_tokens": 400, "system": system, "messages": messages, "tools": TOOLS}


def said(message: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [block.to_dict() for block in message.content]}


def main(stream: bool) -> None:
    client = Anthropic()
    messages: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        if stream:
            with client.messages.stream(**request(messages)) as events:
                for text in events.text_stream:
                    print(text, end="|")
                message: Any = events.get_final_message()
        else:
            message = client.messages.create(**request(messages))
        messages.append(said(message))
        uses = [block for block in message.content if block.type == "tool_use"]
        if not uses:
            break
        with ThreadPoolExecutor(max_workers=2) as pool:
            messages.append({"role": "user", "content": list(pool.map(run_tool, uses))})
    print(message.content[0].text, message.stop_reason, len(messages))


async def main_async(stream: bool) -> None:
    client = AsyncAnthropic()
    messages: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        if stream:
            async with client.messages.stream(**request(messages)) as events:
                async for text in events.text_stream:
                    print(text, end="|")
                message: Any = await events.get_final_message()
        else:
            message = await client.messages.create(**request(messages))
        messages.append(said(message))
        uses = [block for block in message.content if block.type == "tool_use"]
        if not uses:
            break
        results = await asyncio.gather(*(asyncio.to_thread(run_tool, use) for use in uses))
        messages.append({"role": "user", "content": list(results)})
    print(message.content[0].text, message.stop_reason, len(messages))


if __name__ == "__main__":
    is_async, is_stream = desk.asked("async", "stream")
    if is_async:
        asyncio.run(main_async(is_stream))
    else:
        main(is_stream)
