"""What the stand-in writes to people, in the language of the ticket: English, or Chinese where the ticket is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts in one language; those in braces are filled in."""

    plan: str
    within_policy: str
    over_limit: str
    policy_asks: str
    paid: str
    rejected: str
    pending: str


ENGLISH = Wording(
    plan="1. Read the order and the refund policy.\n"
    "2. Decide: execute the refund, or ask a person.\n"
    "3. Act once, with an idempotency key.\n"
    "4. Tell the customer what happened.",
    within_policy="Within the policy as shown; no approval needed.",
    over_limit="over the limit",
    policy_asks="the policy asks for a person",
    paid="Good news: we have sent your refund of {amount} {currency}. It takes two to three days. ✓",
    rejected="We have looked at your request and cannot refund this order. A colleague will write to you.",
    pending="Your request is with a colleague, who will decide within one working day. Nothing was paid yet.",
)
CHINESE = Wording(
    plan="1. 查看订单和退款政策。\n2. 决定：直接退款，还是请人审批。\n"
    "3. 只执行一次，带上幂等键 🔑。\n4. 告诉顾客结果。",
    within_policy="符合所示政策，无需审批。",
    over_limit="超过自动退款额度",
    policy_asks="政策要求人工审批",
    paid="好消息 🎉 我们已退还 {amount} {currency}，两到三天到账。祝阅读愉快 📚👨‍👩‍👧",
    rejected="我们看过您的申请，这笔订单不能退款 😔。同事会写信给您说明。",
    pending="您的申请已转给同事 🙋🏻‍♀️，一个工作日内会有决定。目前尚未付款。",
)
CATEGORY_WORDS: Mapping[str, tuple[str, ...]] = {
    "electronics": ("electronics", "电子"),
    "clothing": ("clothing", "衣"),
    "books": ("books", "书"),
}


def wording_for(ticket: str) -> Wording:
    """The texts for a ticket."""
    return CHINESE if _HAN.search(ticket) else ENGLISH


def category_of(ticket: str) -> str:
    """What kind of goods a ticket is about; electronics when it does not say."""
    text = ticket.lower()
    named = (name for name, words in CATEGORY_WORDS.items() if any(word in text for word in words))
    return next(named, "electronics")
