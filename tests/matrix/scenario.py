"""What the model says in every cell of the matrix: two reads at once, then a refund, then a closing text.

It looks only at which results stand in the conversation, so that it plays the same scene for a framework that runs one
tool at a time, and for every wire format.
"""

from __future__ import annotations

import json

from tests.support.scripted_server import FORMATS, Received, Reply

ORDER = ("get_order", {"order_id": "O-7741"})
POLICY = ("get_policy", {"category": "electronics"})
REFUND = ("execute_refund", {"order_id": "O-7741", "amount": 42.5, "currency": "EUR"})
CLOSING = "Refund R-5501 of 42.5 EUR is on its way."
RESULTS = {
    "get_order": {"order_id": "O-7741", "amount": 42.5, "currency": "EUR", "state": "delivered-late"},
    "get_policy": {"category": "electronics", "version": "refund-policy-7", "limit": 100},
    "execute_refund": {"refund_id": "R-5501", "order_id": "O-7741", "paid": 42.5, "currency": "EUR"},
}
ARGUMENTS = dict((ORDER, POLICY, REFUND))
_KNOWN_BY = ((ORDER, "delivered-late"), (POLICY, "refund-policy-7"), (REFUND, "R-5501"))


def refund_desk(received: Received) -> Reply:
    """The next turn of the scene."""
    path = received.path.partition("?")[0]
    if path not in FORMATS:
        return Reply()
    request = received.json
    said = json.dumps(request.get("messages") or request.get("input"))
    missing = [call for call, mark in _KNOWN_BY if mark not in said]
    if not missing:
        offered = json.dumps(request.get("tools") or [])
        if '"final_answer"' in offered:
            return Reply(tool_calls=(("final_answer", {"answer": CLOSING}),))
        return Reply(text=CLOSING)
    reads = tuple(call for call in missing if call is not REFUND)
    return Reply(tool_calls=reads or (REFUND,))
