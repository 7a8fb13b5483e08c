"""The refund desk's outside world: a directory of small JSON files that stand for its systems.

    orders.json           the order database
    customers.json        what is known of customers: orders and refunds so far
    policies.json         the refund policies, by version
    schema_mapping.json   which policy fields reach the model, by version; edited in an admin page, not in git
    approvals.json        what people have decided, by ticket
    ledger.jsonl          one line for every refund the bank has executed
    outbox.jsonl          one line for every message a customer got
    tickets.json          the state of each ticket

Nothing here knows about agents or recordings. `prepare_desk` makes the files; the rest are the calls that the
agent's tools make.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from agentdbg.demo.rules import Json

BEFORE_CHANGE = "refund-policy-2026-06-15"
AFTER_CHANGE = "refund-policy-2026-07-01"

# Made up: the key is put together here, the number is one of those that Sweden keeps for stories.
ACCESS_KEY = "sk-proj-" + "mD3x" * 9 + "Zq41"
PHONE = "+46 70 174 06 25"

TICKETS: Mapping[str, dict[str, Json]] = {
    "T-2041": {
        "id": "T-2041",
        "customer": "customer-8812",
        "text": "The headphones of order A-1042 do not fit me (electronics, opened). Please refund them. "
        f"You can reach me at {PHONE}; the access key of my shop account is {ACCESS_KEY}.",
    },
    "T-2042": {
        "id": "T-2042",
        "customer": "customer-1290",
        "text": f"I bought order A-1077 (books) twice, please refund one. Call {PHONE}, key {ACCESS_KEY}.",
    },
    "T-2043": {
        "id": "T-2043",
        "customer": "顾客-3307",
        "text": "您好！订单 A-1093 的《三体》📚 买重了，这本还没拆封，想退掉 🙏🏽。"
        "全家都喜欢这套书 👨‍👩‍👧，留一本就够了。"
        f"我的电话：{PHONE}，商店账户的密钥：{ACCESS_KEY}。谢谢！",
    },
    "T-2044": {
        "id": "T-2044",
        "customer": "customer-5520",
        "text": "Fifth pair this month, order A-1118 (electronics) does not fit either. Refund it, please. "
        f"Phone {PHONE}, key {ACCESS_KEY}.",
    },
}

ORDERS: Mapping[str, Json] = {
    "A-1042": {"item": "noise-cancelling headphones, opened", "amount": 240.0, "currency": "EUR", "days_ago": 12},
    "A-1077": {"item": "paperback, unread", "amount": 14.5, "currency": "EUR", "days_ago": 3},
    "A-1093": {"item": "《三体》平装本，未拆封 📚", "amount": 12.9, "currency": "EUR", "days_ago": 5},
    "A-1118": {"item": "earphones, opened", "amount": 89.0, "currency": "EUR", "days_ago": 2},
}

CUSTOMERS: Mapping[str, Json] = {
    "customer-5520": {"since": "2026-05-30", "orders": 6, "refunds_last_30_days": 4},
}

ELECTRONICS: Mapping[str, Json] = {
    "category": "electronics",
    "limits": {"auto_refund": 500.0, "window_days": 30},
    "approval": {"manual": True, "why": "opened electronics are inspected by a person"},
}

BOOKS: Mapping[str, Json] = {
    "category": "books",
    "limits": {"auto_refund": 50.0, "window_days": 14},
    "approval": {"manual": False, "why": "unread books go back on the shelf"},
}

POLICIES: Mapping[str, Json] = {
    version: {"version": version, "electronics": dict(ELECTRONICS), "books": dict(BOOKS)}
    for version in (BEFORE_CHANGE, AFTER_CHANGE)
}

SCHEMA_MAPPING: Mapping[str, Mapping[str, str]] = {
    BEFORE_CHANGE: {
        "category": "category",
        "auto_refund_limit": "limits.auto_refund",
        "window_days": "limits.window_days",
        "requires_manual_approval": "approval.manual",
    },
    # The change that caused the incident: the last line did not survive an edit in the admin page.
    AFTER_CHANGE: {
        "category": "category",
        "auto_refund_limit": "limits.auto_refund",
        "window_days": "limits.window_days",
    },
}

_ONE_AT_A_TIME = threading.Lock()


def prepare_desk(desk: str, *, gateway_seconds: float = 0.0) -> None:
    """Create the desk's files where they are missing.

    Args:
        desk: Directory that holds the files.
        gateway_seconds: How long the bank takes for a refund.
    """
    Path(desk).mkdir(parents=True, exist_ok=True)
    contents: dict[str, Json] = {
        "orders.json": dict(ORDERS),
        "customers.json": dict(CUSTOMERS),
        "policies.json": dict(POLICIES),
        "schema_mapping.json": {version: dict(fields) for version, fields in SCHEMA_MAPPING.items()},
        "approvals.json": {},
        "tickets.json": {},
    }
    for name, content in contents.items():
        if not Path(desk, name).exists():
            _write(desk, name, content)
    _write(desk, "gateway.json", {"seconds": gateway_seconds})


def read_order(desk: str, order_id: str, phone: str, access_key: str) -> dict[str, Json]:
    """Look an order up; the shop's system echoes who asked."""
    order = _read(desk, "orders.json").get(order_id)
    if not isinstance(order, dict):
        raise LookupError(f"no order {order_id}")
    return {"order_id": order_id, **order, "contact": phone, "asked_with_key": access_key}


def read_customer(desk: str, customer: str) -> dict[str, Json]:
    """What is known of a customer; nothing remarkable of most."""
    known = _read(desk, "customers.json").get(customer)
    return {"customer": customer, **(known if isinstance(known, dict) else {"orders": 1, "refunds_last_30_days": 0})}


def read_policy(desk: str, version: str, category: str) -> dict[str, Json]:
    """The policy of one category, in full."""
    policy = _read(desk, "policies.json")[version]
    rules = policy.get(category) if isinstance(policy, dict) else None
    if not isinstance(rules, dict):
        raise LookupError(f"{version} says nothing about {category}")
    return {"version": version, **rules}


def read_mapping(desk: str, version: str) -> dict[str, Json]:
    """The policy fields that reach the model in one version: context name to path in the policy."""
    mapping = _read(desk, "schema_mapping.json")[version]
    return mapping if isinstance(mapping, dict) else {}


def read_decision(desk: str, ticket_id: str) -> str:
    """What a person has decided about a ticket: ``approved``, ``rejected`` or ``pending``."""
    return str(_read(desk, "approvals.json").get(ticket_id, "pending"))


def pay_refund(desk: str, order_id: str, amount: float, currency: str, key: str) -> dict[str, Json]:
    """Move the money, once per idempotency key."""
    time.sleep(_gateway_seconds(desk) / 2)
    with _ONE_AT_A_TIME:
        done = find_refund(desk, key)
        if done is None:
            done = {"refund_id": f"R-{refund_count(desk) + 1:05d}", "order_id": order_id, "amount": amount}
            done |= {"currency": currency, "key": key}
            _append(desk, "ledger.jsonl", done)
    time.sleep(_gateway_seconds(desk) / 2)
    return {**done, "status": "executed"}


def find_refund(desk: str, key: str) -> dict[str, Json] | None:
    """The refund that was executed under a key, if there is one."""
    return next((line for line in _lines(desk, "ledger.jsonl") if line.get("key") == key), None)


def refund_count(desk: str) -> int:
    """How many refunds the bank has really executed."""
    return len(_lines(desk, "ledger.jsonl"))


def message_count(desk: str) -> int:
    """How many messages have really gone out to customers."""
    return len(_lines(desk, "outbox.jsonl"))


def send_message(desk: str, phone: str, text: str, key: str) -> dict[str, Json]:
    """Send a text message, once per key."""
    with _ONE_AT_A_TIME:
        if not any(line.get("key") == key for line in _lines(desk, "outbox.jsonl")):
            _append(desk, "outbox.jsonl", {"to": phone, "text": text, "key": key})
    return {"sent_to": phone, "characters": len(text)}


def save_ticket(desk: str, ticket_id: str, status: str, note: str) -> dict[str, Json]:
    """Set a ticket's status."""
    with _ONE_AT_A_TIME:
        tickets = _read(desk, "tickets.json")
        tickets[ticket_id] = {"status": status, "note": note}
        _write(desk, "tickets.json", tickets)
    return {"ticket_id": ticket_id, "status": status}


def _gateway_seconds(desk: str) -> float:
    seconds = _read(desk, "gateway.json").get("seconds")
    return float(seconds) if isinstance(seconds, (int, float)) else 0.0


def _read(desk: str, name: str) -> dict[str, Json]:
    content: dict[str, Json] = json.loads(Path(desk, name).read_text(encoding="utf-8"))
    return content


def _write(desk: str, name: str, content: Json) -> None:
    draft = Path(desk, f".{name}.{os.getpid()}.{threading.get_ident()}")
    draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(Path(desk, name))


def _append(desk: str, name: str, line: Mapping[str, Json]) -> None:
    with Path(desk, name).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _lines(desk: str, name: str) -> list[dict[str, Json]]:
    path = Path(desk, name)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
