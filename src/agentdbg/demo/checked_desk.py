"""The refund desk with an agent below it: before it decides, a fraud check looks at the customer.

    python -m agentdbg.demo.checked_desk --ticket T-2044 --base-url http://127.0.0.1:8765/v1

The fraud check is an agent of its own, with its own instructions, model calls and tools. Called by itself it is a
run; called by the desk it is a step of the desk's run, and what it does is nested below that step.
"""

from __future__ import annotations

import json
import os
from typing import Any

from openai import OpenAI

import agentdbg
from agentdbg.demo import desk as systems
from agentdbg.demo.chat import ask
from agentdbg.demo.desk_tools import schema
from agentdbg.demo.options import desk_options
from agentdbg.demo.refund_desk import (
    Case,
    answer_customer,
    ask_person,
    decide_and_act,
    make_plan,
    read_order_and_policy,
)
from agentdbg.demo.rules import Json

FRAUD_PROMPT = """You judge whether a refund request may be fraud. Read the customer's history first.
Then answer with one JSON object: risk (low or high) and reason."""
HISTORY_SCHEMA = schema("get_customer_history", "Read the customer's orders and refunds.")


@agentdbg.tool(effect="read")
def get_customer_history(desk: str, customer: str) -> dict[str, Json]:
    """Read what is known of a customer."""
    return systems.read_customer(desk, customer)


@agentdbg.tool(effect="none")
def refund_rate(orders: int, refunds: int) -> dict[str, Json]:
    """Compute which part of a customer's orders came back."""
    return {"refund_rate": round(refunds / orders, 2) if orders else 0.0}


@agentdbg.agent(name="fraud-check", version="0.3.0", prompt_version="fraud-prompt-2")
def check_fraud(customer: str, request: str, desk: str, base_url: str) -> dict[str, Json]:
    """Judge a customer's request.

    Args:
        customer: Who asks.
        request: What they ask for.
        desk: Directory of the desk's systems.
        base_url: Where the model is.

    Returns:
        ``risk``, ``reason`` and ``refund_rate``.
    """
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": FRAUD_PROMPT},
        {"role": "user", "content": f"{customer} asks: {request}"},
    ]
    with OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "demo"), timeout=30) as client:
        asked = ask(client, messages, [HISTORY_SCHEMA])
        history = get_customer_history(desk, customer)
        rate = refund_rate(int(str(history["orders"])), int(str(history["refunds_last_30_days"])))
        content = json.dumps({**history, **rate})
        messages.append({"role": "tool", "tool_call_id": asked.tool_calls[0].id, "content": content})
        verdict: dict[str, Json] = {**json.loads(ask(client, messages, [HISTORY_SCHEMA]).content), **rate}
    agentdbg.checkpoint("fraud verdict", {"status": "JUDGED", "variables": verdict}, can_resume=True)
    return verdict


@agentdbg.agent(
    name="checked-desk",
    version="1.0.0",
    prompt_version="desk-prompt-7",
    policy_version="policy_version",
    thread_id=lambda ticket, **_: str(ticket["customer"]),
)
def handle_checked_ticket(ticket: dict[str, Json], policy_version: str, desk: str, base_url: str) -> dict[str, Json]:
    """Handle one ticket; arguments and result are those of `refund_desk.handle_ticket`."""
    agentdbg.tag(ticket=str(ticket["id"]), policy_version=policy_version)
    client = OpenAI(base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY", "demo"), max_retries=1, timeout=30)
    case = Case(ticket, policy_version, desk, client)
    with client:
        make_plan(case)
        read_order_and_policy(case)
        verdict = check_fraud(str(ticket["customer"]), str(ticket["text"]), desk, base_url)
        case.variables["fraud"] = verdict
        case.scratchpad.append(f"fraud check: {verdict['risk']}, {verdict['reason']}")
        if verdict["risk"] == "high":
            stop_for_person(case, verdict)
        else:
            decide_and_act(case)
            answer_customer(case)
    agentdbg.final_state(case.status)
    return {"status": case.status, "fraud": verdict}


def stop_for_person(case: Case, verdict: dict[str, Json]) -> None:
    """Ask the duty manager instead of the model, and pay nothing without an answer."""
    order = case.variables["order"]
    assert isinstance(order, dict)
    reason = f"fraud check: {verdict['reason']}"
    ask_person(case, {"order_id": order["order_id"], "amount": order["amount"], "reason": reason})


def main(argv: list[str] | None = None) -> int:
    """Handle one of the demo's tickets."""
    options = desk_options("agentdbg.demo.checked_desk", ticket="T-2044").parse_args(argv)
    systems.prepare_desk(options.desk, gateway_seconds=options.gateway_seconds)
    ticket = systems.TICKETS[options.ticket]
    outcome = handle_checked_ticket(ticket, options.policy_version, options.desk, options.base_url)
    print(f"{outcome['status']}: fraud risk {outcome['fraud']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
