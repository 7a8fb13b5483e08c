"""A plain loop on litellm.

python litellm_chat.py [async] [stream]
"""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import desk
import litellm

litellm.telemetry = False
litellm.suppress_debug_info = True


def get_order(order_id: str) -> dict[str, Any]:
    return desk.read_order(order_id)


def get_policy(category: str) -> dict[str, Any]:
    return desk.read_policy(category)


def execute_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    return desk.pay_refund(order_id, amount, currency)


TOOLS = {"get_order": get_order, "get_policy": get_policy, "execute_refund": execute_refund}
SCHEMAS = [{"type": "function", "function": {"name": name, "parameters": desk.parameters(name)}} for name in TOOLS]


def run_tool(call: Any) -> dict[str, Any]:
    result = TOOLS[call.function.name](**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}


def request(messages: list[Any]) -> dict[str, Any]:
    base = os.environ["OPENAI_BASE_URL"]
    return {"model": f"openai/{desk.MODEL}", "api_base": base, "messages": list(messages), "tools": SCHEMAS}


def main(stream: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        response: Any = litellm.completion(**request(messages), stream=stream)
        if stream:
            response = litellm.stream_chunk_builder(list(response), messages=messages)
        message = response.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        with ThreadPoolExecutor(max_workers=2) as pool:
            messages += pool.map(run_tool, message.tool_calls)
    print(message.content, len(messages))


async def main_async(stream: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        response: Any = await litellm.acompletion(**request(messages), stream=stream)
        if stream:
            response = litellm.stream_chunk_builder([chunk async for chunk in response], messages=messages)
        message = response.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        messages += await asyncio.gather(*(asyncio.to_thread(run_tool, call) for call in message.tool_calls))
    print(message.content, len(messages))


if __name__ == "__main__":
    is_async, is_stream = desk.asked("async", "stream")
    if is_async:
        asyncio.run(main_async(is_stream))
    else:
        main(is_stream)
