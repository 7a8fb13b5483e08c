"""The refund desk's tools, one of every effect level at least, and the schemas that the model sees.

none      search_handbook                       computes, reaches nothing
read      get_order, get_refund_policy, get_schema_mapping
write     update_ticket                         can be set again
external  execute_refund, notify_customer       cannot be taken back
"""

from __future__ import annotations

from typing import Any

import agentdbg
from agentdbg.demo import desk as systems
from agentdbg.demo import handbook
from agentdbg.demo.rules import Json


@agentdbg.tool(effect="none")
def search_handbook(query: str, limit: int) -> list[dict[str, str]]:
    """Find the handbook's snippets about a text."""
    return handbook.search(query, limit)


@agentdbg.tool(effect="read")
def get_schema_mapping(desk: str, policy_version: str) -> dict[str, Json]:
    """Read which policy fields reach the model."""
    return systems.read_mapping(desk, policy_version)


@agentdbg.tool(effect="read")
def get_order(desk: str, order_id: str, phone: str, access_key: str) -> dict[str, Json]:
    """Read an order from the order database."""
    return systems.read_order(desk, order_id, phone, access_key)


@agentdbg.tool(effect="read")
def get_refund_policy(desk: str, category: str, policy_version: str) -> dict[str, Json]:
    """Read the refund policy of a category."""
    return systems.read_policy(desk, policy_version, category)


def ticket_dry_run(desk: str, ticket_id: str, status: str, note: str) -> dict[str, Json]:
    """What `update_ticket` would say."""
    return {"ticket_id": ticket_id, "status": status}


@agentdbg.tool(effect="write", dry_run=ticket_dry_run)
def update_ticket(desk: str, ticket_id: str, status: str, note: str) -> dict[str, Json]:
    """Set the status of a ticket."""
    return systems.save_ticket(desk, ticket_id, status, note)


def refund_by_key(desk: str, idempotency_key: str, **_: Json) -> dict[str, Json] | None:
    """Has the bank executed a refund under this key? Settles a call that was cut off."""
    return systems.find_refund(desk, idempotency_key)


def refund_dry_run(desk: str, order_id: str, amount: float, currency: str, **_: Json) -> dict[str, Json]:
    """What `execute_refund` would do, without doing it."""
    return {"refund_id": "R-dry-run", "order_id": order_id, "amount": amount, "currency": currency, "status": "dry_run"}


@agentdbg.tool(effect="external", idempotency_key="idempotency_key", dry_run=refund_dry_run, status=refund_by_key)
def execute_refund(desk: str, order_id: str, amount: float, currency: str, idempotency_key: str) -> dict[str, Json]:
    """Pay the money back."""
    return systems.pay_refund(desk, order_id, amount, currency, idempotency_key)


def message_dry_run(desk: str, phone: str, text: str, idempotency_key: str) -> dict[str, Json]:
    """What `notify_customer` would say."""
    return {"sent_to": phone, "characters": len(text)}


@agentdbg.tool(effect="external", idempotency_key="idempotency_key", dry_run=message_dry_run)
def notify_customer(desk: str, phone: str, text: str, idempotency_key: str) -> dict[str, Json]:
    """Send the customer a text message."""
    return systems.send_message(desk, phone, text, idempotency_key)


def schema(name: str, description: str, **properties: str) -> dict[str, Any]:
    """An OpenAI tool schema whose properties are all required; values are JSON types."""
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


READ_SCHEMAS = [
    schema("get_order", "Read an order.", order_id="string", phone="string", access_key="string"),
    schema("get_refund_policy", "Read the refund policy of a category.", category="string"),
]
ACTION_SCHEMAS = [
    schema("execute_refund", "Pay the money back now.", order_id="string", amount="number", currency="string"),
    schema("request_approval", "Ask a person first.", order_id="string", amount="number", reason="string"),
]
