"""What the stand-in answers: rules over the messages. No language model is involved anywhere in this file.

The rules know the refund desk's conversation, in English and in Chinese:

1. asked without tools and without tool results: a plan, one step a line;
2. offered ``get_order`` and ``get_refund_policy``, nothing read yet: both calls at once;
3. order and policy read: ``request_approval`` when the policy it was *shown* asks for it, else ``execute_refund``;
4. refund executed or approval asked: a text for the customer.

and three smaller ones, told by the tool that is offered: ``get_customer_history`` (is this fraud?), ``track_parcel``
(where is it?) and ``read_ledger`` (a few lines at a time, to the end).

Rule 3 looks only at the messages. A field that did not make it into the context does not exist for it, as
it would not exist for a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agentdbg.demo.wording import category_of, wording_for

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Message: TypeAlias = Mapping[str, Json]

ORDER_ID = re.compile(r"\bA-\d{4}\b")
PHONE = re.compile(r"\+\d[\d ]{8,}\d")
ACCESS_KEY = re.compile(r"\bsk-[\w-]{20,}")
MANY_REFUNDS = 3
LINES_AT_ONCE = 9


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
    for name, rule in SMALL_RULES.items():
        if name in tools:
            return rule(ticket_text(messages), results)
    if "execute_refund" in results or "request_approval" in results:
        return Answer(text=closing_words(results, ticket_text(messages)))
    if "get_order" in results and "get_refund_policy" in results and "execute_refund" in tools:
        return decide(results["get_order"], results["get_refund_policy"], ticket_text(messages))
    if "get_order" in tools and "get_refund_policy" in tools:
        return read_both(ticket_text(messages))
    if not tools and not results:
        return Answer(text=wording_for(ticket_text(messages)).plan)
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
    return Answer(
        tool_calls=(
            ToolCall("get_order", order),
            ToolCall("get_refund_policy", {"category": category_of(ticket)}),
        )
    )


def decide(order: Message, policy: Message, ticket: str) -> Answer:
    """Execute the refund unless the policy, as far as it is shown, wants a person or a smaller amount."""
    words = wording_for(ticket)
    amount, limit = order.get("amount"), policy.get("auto_refund_limit")
    order_id: Json = order.get("order_id")
    over_limit = isinstance(amount, (int, float)) and isinstance(limit, (int, float)) and amount > limit
    if policy.get("requires_manual_approval") is True or over_limit:
        reason = words.over_limit if over_limit else words.policy_asks
        call = ToolCall("request_approval", {"order_id": order_id, "amount": amount, "reason": reason})
        return Answer(tool_calls=(call,))
    call = ToolCall("execute_refund", {"order_id": order_id, "amount": amount, "currency": order.get("currency")})
    return Answer(text=words.within_policy, tool_calls=(call,))


def closing_words(results: Mapping[str, Message], ticket: str) -> str:
    """The text for the customer, after the refund or the question."""
    words = wording_for(ticket)
    decision = results.get("request_approval", {}).get("decision")
    refund = results.get("execute_refund") or results["request_approval"].get("refund")
    if isinstance(refund, dict):
        return words.paid.format(amount=refund.get("amount"), currency=refund.get("currency"))
    return words.rejected if decision == "rejected" else words.pending


def judge_customer(ticket: str, results: Mapping[str, Message]) -> Answer:
    """Look at a customer's history, then say how likely fraud is, as JSON."""
    history = results.get("get_customer_history")
    if history is None:
        return Answer(tool_calls=(ToolCall("get_customer_history", {}),))
    refunds = history.get("refunds_last_30_days")
    high = isinstance(refunds, int) and refunds >= MANY_REFUNDS
    verdict = {"risk": "high" if high else "low", "reason": f"{refunds} refunds in the last 30 days"}
    return Answer(text=json.dumps(verdict))


def find_parcel(ticket: str, results: Mapping[str, Message]) -> Answer:
    """Ask the carrier, then say where the parcel is."""
    parcel = results.get("track_parcel")
    order = found.group() if (found := ORDER_ID.search(ticket)) else ""
    if parcel is None:
        return Answer(tool_calls=(ToolCall("track_parcel", {"order_id": order}),))
    return Answer(text=f"The parcel of order {order} is {parcel.get('parcel')} in {parcel.get('place')}.")


def next_lines(request: str, results: Mapping[str, Message]) -> Answer:
    """Ask for the next few lines of a ledger, as many as the request says it has."""
    found = re.search(r"\d+", request)
    of = int(found.group()) if found else 0
    read = results.get("read_ledger", {}).get("line", 0)
    following = read + 1 if isinstance(read, int) else 1
    if following > of:
        return Answer(text="The ledger is read to its end; the totals are in the state.")
    lines = range(following, min(following + LINES_AT_ONCE, of + 1))
    return Answer(tool_calls=tuple(ToolCall("read_ledger", {"line": line}) for line in lines))


SMALL_RULES: Mapping[str, Callable[[str, Mapping[str, Message]], Answer]] = {
    "get_customer_history": judge_customer,
    "track_parcel": find_parcel,
    "read_ledger": next_lines,
}
