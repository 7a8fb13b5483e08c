"""A ToolCallingAgent of smolagents.

python smolagents_calling.py [stream]
"""

from __future__ import annotations

import os
from typing import Any

import desk
import smolagents
from smolagents import Tool, ToolCallingAgent, tool


@tool
def get_order(order_id: str) -> dict:
    """Read an order.

    Args:
        order_id: Which one.
    """
    return desk.read_order(order_id)


class GetPolicy(Tool):
    name = "get_policy"
    description = "Read a policy."
    inputs = {"category": {"type": "string", "description": "Of what."}}  # noqa: RUF012 (as its users write it)
    output_type = "object"

    def forward(self, category: str) -> Any:
        return desk.read_policy(category)


@tool
def execute_refund(order_id: str, amount: float, currency: str) -> dict:
    """Pay the money back.

    Args:
        order_id: For which order.
        amount: How much.
        currency: Of which currency.
    """
    return desk.pay_refund(order_id, amount, currency)


if __name__ == "__main__":
    (is_stream,) = desk.asked("stream")
    model_class: Any = getattr(smolagents, "OpenAIModel", None) or smolagents.OpenAIServerModel
    model = model_class(desk.MODEL, api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
    agent = ToolCallingAgent(tools=[get_order, GetPolicy(), execute_refund], model=model, verbosity_level=-1)
    if is_stream:
        steps = list(agent.run(desk.QUESTION, stream=True))
        print([type(step).__name__ for step in steps])
    else:
        print(agent.run(desk.QUESTION))
