"""The refund desk's tools for LangChain: a plain one, an asynchronous one and a class."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import desk
from langchain_core.tools import StructuredTool, tool
from langchain_openai import ChatOpenAI


@tool
def get_order(order_id: str) -> dict[str, Any]:
    """Read an order."""
    return desk.read_order(order_id)


def _policy(category: str) -> dict[str, Any]:
    """Read a policy from a service that takes its time."""
    time.sleep(0.03)
    return desk.read_policy(category)


async def _policy_async(category: str) -> dict[str, Any]:
    """Read a policy from a service that takes its time."""
    await asyncio.sleep(0.03)
    return await asyncio.to_thread(desk.read_policy, category)


get_policy = StructuredTool.from_function(func=_policy, coroutine=_policy_async, name="get_policy")


@tool
def execute_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    """Pay the money back."""
    return desk.pay_refund(order_id, amount, currency)


TOOLS = [get_order, get_policy, execute_refund]


def model(stream: bool) -> ChatOpenAI:
    return ChatOpenAI(model=desk.MODEL, temperature=0, streaming=stream)
