"""An agent on pydantic-ai.

python pydantic_ai_agent.py [async] [stream]
"""

from __future__ import annotations

import asyncio
from typing import Any

import desk
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.openai import OpenAIChatModel

agent = Agent(OpenAIChatModel(desk.MODEL), name="refund-desk", instructions="Be fair.", deps_type=str)


@agent.tool
def get_order(context: RunContext[str], order_id: str) -> dict[str, Any]:
    """Read an order."""
    assert context.deps == "desk 3"
    return desk.read_order(order_id)


@agent.tool_plain
async def get_policy(category: str) -> dict[str, Any]:
    """Read a policy."""
    return desk.read_policy(category)


@agent.tool_plain
def execute_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    """Pay the money back."""
    return desk.pay_refund(order_id, amount, currency)


async def main_streamed() -> None:
    async with agent.run_stream(desk.QUESTION, deps="desk 3") as result:
        async for text in result.stream_text(delta=True, debounce_by=None):
            print(text, end="|")
        print(len(result.all_messages()))


async def main_async() -> None:
    result = await agent.run(desk.QUESTION, deps="desk 3")
    print(result.output, len(result.all_messages()))


if __name__ == "__main__":
    is_async, is_stream = desk.asked("async", "stream")
    if is_stream:
        asyncio.run(main_streamed())
    elif is_async:
        asyncio.run(main_async())
    else:
        done = agent.run_sync(desk.QUESTION, deps="desk 3")
        print(done.output, len(done.all_messages()))
