"""What answers come to, whoever gives them and however they put it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentdbg.replay.conclusions import conclude

ARGUMENTS = {"order": "A-1", "amount": 5}
TEXT = json.dumps(ARGUMENTS)
ANSWERS: dict[str, dict[str, Any]] = {
    "chat": {
        "choices": [{"message": {"content": "ok", "tool_calls": [{"function": {"name": "pay", "arguments": TEXT}}]}}]
    },
    "old chat": {"choices": [{"message": {"content": "ok", "function_call": {"name": "pay", "arguments": TEXT}}}]},
    "responses": {
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "ok"}]},
            {"type": "function_call", "call_id": "c", "name": "pay", "arguments": TEXT},
        ]
    },
    "messages": {"content": [{"type": "text", "text": "ok"}, {"type": "tool_use", "name": "pay", "input": ARGUMENTS}]},
    "gemini": {
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "ok"},
                        {"functionCall": {"name": "pay", "args": ARGUMENTS}},
                    ]
                }
            }
        ]
    },
    "ollama": {"message": {"content": "ok", "tool_calls": [{"function": {"name": "pay", "arguments": ARGUMENTS}}]}},
    "cohere": {
        "message": {
            "content": [{"type": "text", "text": "ok"}],
            "tool_calls": [{"function": {"name": "pay", "arguments": TEXT}}],
        }
    },
}


@pytest.mark.parametrize("shape", ANSWERS)
def test_every_provider_says_the_same(shape: str) -> None:
    found = conclude(ANSWERS[shape], structured=False)
    assert found.wording == "ok"
    assert [(call.name, call.arguments) for call in found.tool_calls] == [("pay", ARGUMENTS)]
    assert found.key == conclude(ANSWERS["messages"], structured=True).key


def _calls(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": name, "input": given} for name, given in calls]}


def test_order_of_members_and_of_parallel_calls_is_no_difference() -> None:
    one = conclude(_calls(("a", {"x": 1, "y": 2}), ("b", {})), structured=False)
    other = conclude(_calls(("b", {}), ("a", {"y": 2, "x": 1})), structured=False)
    assert one.key == other.key
    assert one.key != conclude(_calls(("a", {"x": 1, "y": 3}), ("b", {})), structured=False).key


def test_wording_is_no_conclusion() -> None:
    one, other = (conclude({"response": text}, structured=False) for text in ("yes", "certainly"))
    assert one.key == other.key
    assert not one.can_tell
    assert one.members() is None


def test_a_structured_answer_is_compared_as_what_it_says() -> None:
    one, other = (conclude({"response": text}, structured=True) for text in ('{"a":1,"b":2}', '{ "b": 2, "a": 1 }'))
    assert one.can_tell
    assert one.key == other.key
    assert one.key != conclude({"response": "null"}, structured=True).key
    assert not conclude({"response": "sorry, no"}, structured=True).can_tell


@pytest.mark.parametrize("output", [None, 5, "text", [], {}, {"choices": None}, {"output": [None, {"type": 3}]}])
def test_what_has_no_known_shape_concludes_nothing(output: Any) -> None:
    assert not conclude(output, structured=True).tool_calls
