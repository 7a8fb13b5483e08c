"""What an interrupt's question allows, and what an answer decides."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.recording.frameworks.langgraph_interrupts import _who, allowed_in, decisions_in

MIDDLEWARE = {
    "action_requests": [{"name": "refund", "args": {"amount": 40}}],
    "review_configs": [{"action_name": "refund", "allowed_decisions": ["approve", "reject"]}],
}
INBOX = [{"action_request": {"action": "refund"}, "config": {"allow_accept": True, "allow_edit": False}}]


@pytest.mark.parametrize(
    ("question", "allowed"),
    [
        ("refund?", None),
        ({"question": "refund?", "options": ["yes", "no"]}, ["no", "yes"]),
        ({"question": "refund?", "allowed": "anything"}, None),
        (MIDDLEWARE, ["approve", "reject"]),
        (INBOX, ["accept"]),
        ([], None),
    ],
)
def test_what_may_be_decided(question: Any, allowed: list[str] | None) -> None:
    assert allowed_in(question) == allowed


@pytest.mark.parametrize(
    ("answer", "decided"),
    [
        ("yes", ["yes"]),
        (True, []),
        ({"type": "approve", "who": "ada"}, ["approve"]),
        ({"decisions": [{"type": "approve"}, {"type": "edit", "edited_action": {}}]}, ["approve", "edit"]),
        ([{"type": "accept", "args": None}], ["accept"]),
        (None, []),
    ],
)
def test_what_was_decided(answer: Any, decided: list[str]) -> None:
    assert decisions_in(answer) == decided


def test_who_decided_is_said_by_the_answer_before_the_configuration() -> None:
    config = {"metadata": {"user_id": "bob"}, "configurable": {"user": "eve"}}
    assert _who({"type": "approve", "who": "ada"}, config) == "ada"
    assert _who("approve", config) == "bob"
    assert _who("approve", {"configurable": {"thread_id": "t"}}) is None
