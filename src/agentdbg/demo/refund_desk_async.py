"""The refund desk with asyncio: two reads gathered, and two warehouses asked of which the faster answer counts.

    python -m agentdbg.demo.refund_desk_async --ticket T-2041 --base-url http://127.0.0.1:8765/v1

Smaller than `refund_desk`; its point is order. Which warehouse wins is decided outside the program, goes into the
prompt, and has to come out the same way in a replay.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from typing import Any

from openai import AsyncOpenAI

import agentdbg
from agentdbg.demo import desk as systems
from agentdbg.demo.desk_tools import ACTION_SCHEMAS, READ_SCHEMAS
from agentdbg.demo.options import desk_options
from agentdbg.demo.refund_desk import MODEL, SYSTEM_PROMPT, shown_policy
from agentdbg.demo.rules import Json

WAREHOUSES = ("Malmö", "Rotterdam")
ANSWERS_AFTER_S = dict(zip(WAREHOUSES, random.sample((0.01, 0.25), 2), strict=True))
"""How busy each is today."""


@agentdbg.tool(effect="read")
async def get_order(desk: str, order_id: str, phone: str, access_key: str) -> dict[str, Json]:
    """Read an order from the order database."""
    await asyncio.sleep(random.random() / 100)
    return systems.read_order(desk, order_id, phone, access_key)


@agentdbg.tool(effect="read")
async def get_refund_policy(desk: str, category: str, policy_version: str) -> dict[str, Json]:
    """Read the refund policy of a category."""
    await asyncio.sleep(random.random() / 100)
    return systems.read_policy(desk, policy_version, category)


@agentdbg.tool(effect="read")
async def ask_warehouse(warehouse: str, order_id: str) -> dict[str, Json]:
    """Ask a warehouse whether the parcel is back; either of them can answer, one is faster."""
    await asyncio.sleep(ANSWERS_AFTER_S[warehouse])
    return {"warehouse": warehouse, "order_id": order_id, "parcel": "back on the shelf"}


@agentdbg.tool(effect="external", idempotency_key="idempotency_key")
async def execute_refund(
    desk: str, order_id: str, amount: float, currency: str, idempotency_key: str
) -> dict[str, Json]:
    """Pay the money back."""
    return await asyncio.to_thread(systems.pay_refund, desk, order_id, amount, currency, idempotency_key)


@agentdbg.agent(
    name="refund-desk-async",
    version="1.0.0",
    policy_version="policy_version",
    thread_id=lambda ticket, **_: str(ticket["customer"]),
)
async def handle_ticket_async(
    ticket: dict[str, Json], policy_version: str, desk: str, base_url: str
) -> dict[str, Json]:
    """Handle one ticket; arguments and result are those of `refund_desk.handle_ticket`."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": f"Ticket {ticket['id']}: {ticket['text']}"},
    ]
    api_key = os.environ.get("OPENAI_API_KEY", "demo")
    async with AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=1, timeout=30) as client:
        order = await read_order_and_policy(client, messages, policy_version, desk)
        messages.append({"role": "user", "content": f"Parcel: {json.dumps(await first_warehouse(order))}"})
        status = await decide(client, messages, order, desk, str(ticket["id"]))
        text = (await ask_model(client, messages)).content
    agentdbg.checkpoint("answer", {"status": status, "variables": {"order": order, "answer": text}}, can_resume=True)
    return {"status": status, "answer": text}


async def read_order_and_policy(
    client: AsyncOpenAI, messages: list[dict[str, Any]], policy_version: str, desk: str
) -> dict[str, Json]:
    """Run both reads that the model asks for at the same time; the order is returned."""
    first, second = (await ask_model(client, messages, READ_SCHEMAS)).tool_calls
    order, policy = await asyncio.gather(
        get_order(desk, **json.loads(first.function.arguments)),
        get_refund_policy(desk, policy_version=policy_version, **json.loads(second.function.arguments)),
    )
    shown = shown_policy(policy, systems.SCHEMA_MAPPING[policy_version])
    messages.append({"role": "tool", "tool_call_id": first.id, "content": json.dumps(order)})
    messages.append({"role": "tool", "tool_call_id": second.id, "content": json.dumps(shown)})
    return order


async def first_warehouse(order: dict[str, Json]) -> dict[str, Json]:
    """Ask both warehouses; take the answer that is there first and cancel the other."""
    asked = [asyncio.create_task(ask_warehouse(name, str(order["order_id"]))) for name in WAREHOUSES]
    done, late = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    return next(task for task in asked if task in done).result()


async def decide(
    client: AsyncOpenAI, messages: list[dict[str, Any]], order: dict[str, Json], desk: str, ticket_id: str
) -> str:
    """Let the model decide; the result is the run's status."""
    (call,) = (await ask_model(client, messages, ACTION_SCHEMAS)).tool_calls
    result: dict[str, Json] = {"decision": "pending"}
    status = "WAITING_HUMAN_APPROVAL"
    if call.function.name == "execute_refund":
        status, amount = "AUTO_EXECUTE", json.loads(call.function.arguments)["amount"]
        key = f"refund-{ticket_id}-{order['order_id']}"
        result = await execute_refund(desk, str(order["order_id"]), amount, str(order["currency"]), idempotency_key=key)
    messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    return status


async def ask_model(
    client: AsyncOpenAI, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None
) -> Any:
    """One model call; its message is added to the conversation and returned."""
    offered: dict[str, Any] = {"tools": tools} if tools else {}
    response = await client.chat.completions.create(
        **{"model": MODEL, "messages": list(messages), "temperature": 0, **offered}
    )
    message = response.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    return message


def main(argv: list[str] | None = None) -> int:
    """Handle one of the demo's tickets."""
    options = desk_options("agentdbg.demo.refund_desk_async").parse_args(argv)
    systems.prepare_desk(options.desk, gateway_seconds=options.gateway_seconds)
    ticket = systems.TICKETS[options.ticket]
    outcome = asyncio.run(handle_ticket_async(ticket, options.policy_version, options.desk, options.base_url))
    print(f"{outcome['status']}: {outcome['answer']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
