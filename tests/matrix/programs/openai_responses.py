"""A plain loop on OpenAI's responses API; asynchronous tools run in a gather.

python openai_responses.py [async] [stream]
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import desk
from openai import AsyncOpenAI, OpenAI


def get_order(order_id: str) -> dict[str, Any]:
    return desk.read_order(order_id)


def get_policy(category: str) -> dict[str, Any]:
    return desk.read_policy(category)


async def execute_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    await asyncio.sleep(0)
    return desk.pay_refund(order_id, amount, currency)


TOOLS = [{"type": "function", "name": name, "parameters": desk.parameters(name)} for name in desk.SCHEMAS]


def request(items: list[Any]) -> dict[str, Any]:
    return {"model": desk.MODEL, "instructions": "Be fair.", "input": items, "tools": TOOLS}


def output(call: Any, result: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(result)}


def run_tool(call: Any) -> dict[str, Any]:
    arguments = json.loads(call.arguments)
    if call.name == "execute_refund":
        return output(call, asyncio.run(execute_refund(**arguments)))
    return output(call, {"get_order": get_order, "get_policy": get_policy}[call.name](**arguments))


async def run_tool_async(call: Any) -> dict[str, Any]:
    arguments = json.loads(call.arguments)
    if call.name == "execute_refund":
        return output(call, await execute_refund(**arguments))
    return output(call, {"get_order": get_order, "get_policy": get_policy}[call.name](**arguments))


def calls_of(response: Any) -> list[Any]:
    return [item for item in response.output if item.type == "function_call"]


def main(stream: bool) -> None:
    client = OpenAI()
    items: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        if stream:
            with client.responses.stream(**request(items)) as events:
                for event in events:
                    if event.type == "response.output_text.delta":
                        print(event.delta, end="|")
                response: Any = events.get_final_response()
        else:
            response = client.responses.create(**request(items))
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        calls = calls_of(response)
        if not calls:
            break
        with ThreadPoolExecutor(max_workers=2) as pool:
            items += pool.map(run_tool, calls)
    print(response.output_text, len(items))


async def main_async(stream: bool) -> None:
    client = AsyncOpenAI()
    items: list[Any] = [{"role": "user", "content": desk.QUESTION}]
    while True:
        if stream:
            async with client.responses.stream(**request(items)) as events:
                async for event in events:
                    if event.type == "response.output_text.delta":
                        print(event.delta, end="|")
                response: Any = await events.get_final_response()
        else:
            response = await client.responses.create(**request(items))
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        calls = calls_of(response)
        if not calls:
            break
        items += await asyncio.gather(*map(run_tool_async, calls))
    print(response.output_text, len(items))


if __name__ == "__main__":
    is_async, is_stream = desk.asked("async", "stream")
    if is_async:
        asyncio.run(main_async(is_stream))
    else:
        main(is_stream)
