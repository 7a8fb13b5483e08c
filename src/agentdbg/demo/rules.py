"""What the stand-in answers: rules over the messages. No language model is involved anywhere in this file.

The rules know one conversation, the refund desk's:

1. asked without tools and without tool results: a plan, one step a line;
2. offered ``get_order`` and ``get_refund_policy``, nothing read yet: both calls at once;
3. order and policy read: ``request_approval`` when the policy it was *shown* asks for it, else ``execute_refund``;
4. refund executed or approval asked: a text for the customer.

Rule 3 looks only at the messages. A field that did not make it into the context does not exist for it, as
it would not exist for a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Message: TypeAlias = Mapping[str, Json]

ORDER_ID = re.compile(r"\bA-\d{4}\b")
PHONE = re.compile(r"\+\d[\d ]{8,}\d")
ACCESS_KEY = re.compile(r"\bsk-[\w-]{20,}")
CATEGORIES = ("electronics", "clothing", "books")

PLAN = (
    "1. Read the order and the refund policy.",
    "2. Decide: execute the refund, or ask a person.",
    "3. Act once, with an idempotency key.",
    "4. Tell the customer what happened.",
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that the rules ask for."""

    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the stand-in says: text, or tool calls, or both."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


def answer(messages: Sequence[Message], tools: Sequence[str]) -> Answer:
    """Answer a conversation.

    Args:
        messages: The messages of an OpenAI chat request.
        tools: Names of the offered tools.

    Returns:
        The first rule's answer that applies.
    """
    results = tool_results(messages)
    if "execute_refund" in results or "request_approval" in results:
        return Answer(text=closing_words(results))
    if "get_order" in results and "get_refund_policy" in results and "execute_refund" in tools:
        return decide(results["get_order"], results["get_refund_policy"])
    if "get_order" in tools and "get_refund_policy" in tools:
        return read_both(ticket_text(messages))
    if not tools and not results:
        return Answer(text="\n".join(PLAN))
    return Answer(text="These are rules, not a model; they only know the refund desk.")


def tool_results(messages: Sequence[Message]) -> dict[str, Message]:
    """The JSON results in the conversation, by the name of the tool that was asked."""
    names: dict[str, str] = {}
    results: dict[str, Message] = {}
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(call, dict) and isinstance(function, dict):
                names[str(call.get("id"))] = str(function.get("name"))
        if message.get("role") == "tool":
            name = names.get(str(message.get("tool_call_id")), "")
            results[name] = parsed_object(message.get("content"))
    return results


def parsed_object(content: Json) -> Message:
    """The JSON object in a message's content; empty when there is none."""
    try:
        value = json.loads(content) if isinstance(content, str) else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def ticket_text(messages: Sequence[Message]) -> str:
    """What the user's first message says."""
    return next((str(message.get("content", "")) for message in messages if message.get("role") == "user"), "")


def read_both(ticket: str) -> Answer:
    """Ask for order and policy in one turn, with what the ticket says about them."""
    order: dict[str, Json] = {
        name: found.group()
        for name, pattern in (("order_id", ORDER_ID), ("phone", PHONE), ("access_key", ACCESS_KEY))
        if (found := pattern.search(ticket))
    }
    category = next((name for name in CATEGORIES if name in ticket.lower()), "electronics")
    return Answer(
        tool_calls=(
            ToolCall("get_order", order),
            ToolCall("get_refund_policy", {"category": category}),
        )
    )


def decide(order: Message, policy: Message) -> Answer:
    """Execute the refund unless the policy, as far as it is shown, wants a person or a smaller amount."""
    amount, limit = order.get("amount"), policy.get("auto_refund_limit")
    order_id: Json = order.get("order_id")
    over_limit = isinstance(amount, (int, float)) and isinstance(limit, (int, float)) and amount > limit
    if policy.get("requires_manual_approval") is True or over_limit:
        reason = "over the limit" if over_limit else "the policy asks for a person"
        call = ToolCall("request_approval", {"order_id": order_id, "amount": amount, "reason": reason})
        return Answer(tool_calls=(call,))
    call = ToolCall("execute_refund", {"order_id": order_id, "amount": amount, "currency": order.get("currency")})
    return Answer(text="Within the policy as shown; no approval needed.", tool_calls=(call,))


def closing_words(results: Mapping[str, Message]) -> str:
    """The text for the customer, after the refund or the question."""
    decision = results.get("request_approval", {}).get("decision")
    refund = results.get("execute_refund") or results["request_approval"].get("refund")
    if isinstance(refund, dict):
        amount, currency = refund.get("amount"), refund.get("currency")
        return f"Good news: we have sent your refund of {amount} {currency}. It takes two to three days. ✓"
    if decision == "rejected":
        return "We have looked at your request and cannot refund this order. A colleague will write to you."
    return "Your request is with a colleague, who will decide within one working day. Nothing was paid yet."
