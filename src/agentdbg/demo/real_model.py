"""A run with a real, small language model: three calls, two tools.

    python -m agentdbg.demo.real_model --base-url http://127.0.0.1:8811/v1

Made for SmolLM2-135M-Instruct behind llama-cpp-python's OpenAI-compatible server (started with
``--chat_format chatml-function-calling``). A model of that size repeats one tool call for ever when it may choose, so
each step names the tool; the arguments and the last text are the model's own.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from openai import OpenAI

import agentdbg
from agentdbg.demo.desk import ORDERS
from agentdbg.demo.desk_tools import schema
from agentdbg.demo.rules import Json

QUESTION = "What did I buy with order A-1042, and how many days are left to send it back?"
LAST_WORD = "Thank you. Now tell me in one plain English sentence: what is the item, and how many days are left?"
RETURN_DAYS = 30


@agentdbg.tool(effect="read")
def get_order(order_id: str) -> Json:
    """Read an order."""
    return ORDERS.get(order_id, {"error": f"no order {order_id}"})


@agentdbg.tool(effect="none")
def days_left(days_ago: int) -> dict[str, Json]:
    """Compute how long an order can still be sent back."""
    return {"days_left": max(0, RETURN_DAYS - days_ago)}


TOOLS: Mapping[str, Callable[..., Json]] = {"get_order": get_order, "days_left": days_left}
SCHEMAS = [
    schema("get_order", "Read an order by its id, like A-1042.", order_id="string"),
    schema("days_left", "Days left to send an order back.", days_ago="integer"),
]
SCRIPT = ("get_order", "days_left", None)


@agentdbg.agent(name="real-model-tool-loop", version="1.0.0", tags={"model": "real", "answers": "not rules"})
def answer_question(question: str, base_url: str, model: str) -> dict[str, Json]:
    """Answer a question with one call of each tool, then a text.

    Args:
        question: What the customer asks.
        base_url: Where the model is.
        model: Its name.

    Returns:
        The model's last text.
    """
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You answer questions about orders. Use the tools, then answer in one sentence."},
        {"role": "user", "content": question},
    ]
    text = ""
    with OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "demo"), timeout=300) as client:
        for step, tool in enumerate(SCRIPT, start=1):
            if tool is None:
                messages.append({"role": "user", "content": LAST_WORD})
            message = ask(client, model, messages, tool)
            # This server answers a null content with an error, so an empty text goes back.
            messages.append({**message.model_dump(exclude_none=True), "content": message.content or ""})
            messages.extend(
                {"role": "tool", "tool_call_id": call.id, "content": run_tool(call)}
                for call in message.tool_calls or []
            )
            text = message.content or ""
            state: dict[str, Json] = {"status": "ASKED" if tool else "ANSWERED", "step": step, "answer": text}
            agentdbg.checkpoint(tool or "answer", state, can_resume=True)
    return {"answer": text}


def ask(client: OpenAI, model: str, messages: list[dict[str, Any]], tool: str | None) -> Any:
    """One model call that has to use one tool, or none."""
    offered: dict[str, Any] = {}
    if tool:
        offered = {"tools": SCHEMAS, "tool_choice": {"type": "function", "function": {"name": tool}}}
    request = {"model": model, "messages": list(messages), "temperature": 0, "seed": 7, "max_tokens": 96, **offered}
    response: Any = client.chat.completions.create(**request)
    return response.choices[0].message


def run_tool(call: Any) -> str:
    """Run a tool with the model's own arguments; what is wrong with them goes back to the model."""
    try:
        result = TOOLS[call.function.name](**json.loads(call.function.arguments))
    except (KeyError, TypeError, ValueError) as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    return json.dumps(result)


def main(argv: list[str] | None = None) -> int:
    """Ask one question."""
    parser = argparse.ArgumentParser(prog="python -m agentdbg.demo.real_model")
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8811/v1"))
    parser.add_argument("--model", default="SmolLM2-135M-Instruct-Q4_1")
    parser.add_argument("--question", default=QUESTION)
    options = parser.parse_args(argv)
    print(answer_question(options.question, options.base_url, options.model)["answer"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
