"""An agent on openai-agents.

python openai_agents.py [async] [stream] [chat]
"""

from __future__ import annotations

import asyncio
from typing import Any

import desk
from agents import Agent, Runner, function_tool, set_default_openai_api, set_tracing_disabled

set_tracing_disabled(True)


@function_tool
def get_order(order_id: str) -> dict[str, Any]:
    """Read an order."""
    return desk.read_order(order_id)


@function_tool
async def get_policy(category: str) -> dict[str, Any]:
    """Read a policy."""
    return desk.read_policy(category)


@function_tool
def execute_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    """Pay the money back."""
    return desk.pay_refund(order_id, amount, currency)


AGENT = Agent(
    name="refund-desk",
    instructions="Be fair.",
    model=desk.MODEL,
    tools=[get_order, get_policy, execute_refund],
)


async def main_streamed() -> None:
    result = Runner.run_streamed(AGENT, desk.QUESTION)
    names = [event.name async for event in result.stream_events() if event.type == "run_item_stream_event"]
    print(result.final_output, sorted(names))


async def main_async() -> None:
    result = await Runner.run(AGENT, desk.QUESTION)
    print(result.final_output, len(result.to_input_list()))


if __name__ == "__main__":
    is_async, is_stream, is_chat = desk.asked("async", "stream", "chat")
    if is_chat:
        set_default_openai_api("chat_completions")
    if is_stream:
        asyncio.run(main_streamed())
    elif is_async:
        asyncio.run(main_async())
    else:
        result = Runner.run_sync(AGENT, desk.QUESTION)
        print(result.final_output, len(result.to_input_list()))
