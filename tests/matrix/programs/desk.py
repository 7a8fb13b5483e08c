"""The refund desk's systems as any program might reach them: each call leaves a trace that a test can count."""

from __future__ import annotations

import http.client
import os
import sys
from typing import Any

try:
    import httpx2 as httpx
except ImportError:
    import httpx

QUESTION = "Customer 17 wants the money for order O-7741 back."
MODEL = "refund-model"
SCHEMAS: dict[str, dict[str, str]] = {
    "get_order": {"order_id": "string"},
    "get_policy": {"category": "string"},
    "execute_refund": {"order_id": "string", "amount": "number", "currency": "string"},
}


def read_order(order_id: str) -> dict[str, Any]:
    """Read an order from the shop."""
    _reach("get_order")
    return {"order_id": order_id, "amount": 42.5, "currency": "EUR", "state": "delivered-late"}


def read_policy(category: str) -> dict[str, Any]:
    """Read the refund policy of a category, through an HTTP library."""
    httpx.post(f"http://127.0.0.1:{os.environ['PORT']}/effects/get_policy", json={"category": category}, timeout=20)
    return {"category": category, "version": "refund-policy-7", "limit": 100}


def pay_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    """Pay, and enter it into the ledger."""
    _reach("execute_refund")
    with open(os.path.join(os.environ["OUTSIDE"], "ledger.txt"), "a", encoding="utf-8") as ledger:
        ledger.write(f"{order_id} {amount} {currency}\n")
    return {"refund_id": "R-5501", "order_id": order_id, "paid": amount, "currency": currency}


def asked(*words: str) -> tuple[bool, ...]:
    """Which of these words stand on the command line."""
    unknown = set(sys.argv[1:]) - set(words)
    if unknown:
        raise SystemExit(f"unknown variant: {', '.join(sorted(unknown))}")
    return tuple(word in sys.argv[1:] for word in words)


def parameters(name: str) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    properties = {key: {"type": kind} for key, kind in SCHEMAS[name].items()}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _reach(name: str) -> None:
    """A request to a system outside, past every HTTP library."""
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=20)
    connection.request("POST", f"/effects/{name}", body=b"{}")
    connection.getresponse().read()
    connection.close()
