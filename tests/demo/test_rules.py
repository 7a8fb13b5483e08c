"""The stand-in answers by rules, from what the messages show and nothing else."""

from __future__ import annotations

import json

import pytest

from agentdbg.demo.rules import Answer, Json, Message, answer

READS = ["get_order", "get_refund_policy"]
ACTIONS = ["execute_refund", "request_approval"]
ORDER: dict[str, Json] = {"order_id": "A-1042", "amount": 240.0, "currency": "EUR"}
KEY = "sk-proj-" + "a1B2" * 8


def called(name: str, result: dict[str, Json]) -> list[Message]:
    """A tool call in the conversation, and its result."""
    call: Json = {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{name}", "content": json.dumps(result)},
    ]


def decided_with(policy: dict[str, Json]) -> str:
    messages = [*called("get_order", ORDER), *called("get_refund_policy", policy)]
    (call,) = answer(messages, ACTIONS).tool_calls
    return call.name


def test_a_plan_is_text_with_a_step_on_every_line() -> None:
    plan = answer([{"role": "user", "content": "refund please"}], [])

    assert plan.tool_calls == ()
    assert len(plan.text.splitlines()) > 1


def test_both_reads_are_asked_for_at_once_with_what_the_ticket_says() -> None:
    ticket = f"Order A-1042 (books), call +46 70 174 06 25, key {KEY}."

    order, policy = answer([{"role": "user", "content": ticket}], READS).tool_calls

    assert order.arguments == {"order_id": "A-1042", "phone": "+46 70 174 06 25", "access_key": KEY}
    assert policy.arguments == {"category": "books"}


def test_later_messages_do_not_change_what_the_ticket_is_about() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "Order A-1077, books"},
        {"role": "user", "content": "handbook: electronics"},
    ]

    assert answer(messages, READS).tool_calls[1].arguments == {"category": "books"}


@pytest.mark.parametrize(
    ("policy", "action"),
    [
        ({"auto_refund_limit": 500.0, "requires_manual_approval": True}, "request_approval"),
        ({"auto_refund_limit": 500.0, "requires_manual_approval": False}, "execute_refund"),
        ({"auto_refund_limit": 100.0}, "request_approval"),
    ],
)
def test_the_policy_as_shown_decides(policy: dict[str, Json], action: str) -> None:
    assert decided_with(policy) == action


def test_a_field_that_is_not_shown_does_not_exist() -> None:
    assert decided_with({"auto_refund_limit": 500.0}) == "execute_refund"


@pytest.mark.parametrize(
    ("name", "result", "word"),
    [
        ("execute_refund", {"amount": 240.0, "currency": "EUR"}, "sent your refund"),
        ("request_approval", {"decision": "pending"}, "Nothing was paid"),
        ("request_approval", {"decision": "rejected"}, "cannot refund"),
        ("request_approval", {"decision": "approved", "refund": {"amount": 1, "currency": "EUR"}}, "sent your refund"),
    ],
)
def test_the_customer_is_told_what_happened(name: str, result: dict[str, Json], word: str) -> None:
    assert word in answer(called(name, result), []).text


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "tool", "tool_call_id": "x", "content": "{broken"}],
        [{"role": "assistant", "tool_calls": ["not a call", {"function": None}]}, {"role": "tool", "content": None}],
    ],
)
def test_odd_conversations_get_a_plain_answer(messages: list[Message]) -> None:
    assert answer(messages, ["other"]) == Answer(text="These are rules, not a model; they only know the refund desk.")


def test_a_chinese_ticket_is_answered_in_chinese() -> None:
    ticket: list[Message] = [{"role": "user", "content": "订单 A-1093 的书买重了，请退款。"}]
    paid = called("execute_refund", {"amount": 12.9, "currency": "EUR"})

    assert answer(ticket, []).text.startswith("1. 查看订单")
    assert answer(ticket, READS).tool_calls[1].arguments == {"category": "books"}
    assert "12.9 EUR" in answer([*ticket, *paid], []).text
    assert "退还" in answer([*ticket, *paid], []).text


@pytest.mark.parametrize(("refunds", "risk"), [(0, "low"), (2, "low"), (3, "high"), (None, "low")])
def test_many_refunds_are_a_high_risk(refunds: int | None, risk: str) -> None:
    history = called("get_customer_history", {"refunds_last_30_days": refunds})

    assert answer([], ["get_customer_history"]).tool_calls[0].name == "get_customer_history"
    assert json.loads(answer(history, ["get_customer_history"]).text)["risk"] == risk


def test_a_parcel_is_asked_for_and_then_named() -> None:
    ticket: list[Message] = [{"role": "user", "content": "Where is A-1077?"}]
    (call,) = answer(ticket, ["track_parcel"]).tool_calls
    found = called("track_parcel", {"parcel": "on its way", "place": "Lund"})

    assert call.arguments == {"order_id": "A-1077"}
    assert answer([*ticket, *found], ["track_parcel"]).text == "The parcel of order A-1077 is on its way in Lund."


@pytest.mark.parametrize(
    ("read", "asked"), [(0, [1, 2, 3, 4, 5, 6, 7, 8, 9]), (9, [10, 11]), (11, []), ("?", [*range(1, 10)])]
)
def test_a_ledger_is_read_to_its_end(read: Json, asked: list[int]) -> None:
    messages: list[Message] = [{"role": "user", "content": "Audit the 11 refunds."}]
    if read:
        messages += called("read_ledger", {"line": read})

    found = answer(messages, ["read_ledger"])

    assert [call.arguments["line"] for call in found.tool_calls] == asked
    assert bool(found.text) is (not asked)
