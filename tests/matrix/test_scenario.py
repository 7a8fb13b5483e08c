"""The scene is the same for every wire format, and for frameworks that take one call of a turn only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.matrix.scenario import ARGUMENTS, CLOSING, RESULTS, refund_desk
from tests.support.scripted_server import FORMATS, Received


def asked(*done: str, key: str = "messages", path: str = "/v1/chat/completions", tools: Any = ()) -> Received:
    results = [{"role": "tool", "content": json.dumps(RESULTS[name])} for name in done]
    body = {key: [{"role": "user", "content": "O-7741"}, *results], "tools": list(tools)}
    return Received("POST", path, {}, json.dumps(body).encode())


@pytest.mark.parametrize("path", FORMATS)
def test_two_reads_then_the_refund_then_a_text(path: str) -> None:
    key = "input" if path.endswith("responses") else "messages"
    turns = [refund_desk(asked(*list(RESULTS)[:count], key=key, path=path)) for count in (0, 2, 3)]
    assert [[name for name, _ in turn.tool_calls] for turn in turns] == [
        ["get_order", "get_policy"],
        ["execute_refund"],
        [],
    ]
    assert turns[2].text == CLOSING


def test_a_read_that_was_left_out_is_asked_for_again() -> None:
    assert refund_desk(asked("get_order")).tool_calls == (("get_policy", ARGUMENTS["get_policy"]),)


def test_where_answering_is_a_tool_it_ends_with_that() -> None:
    tool = {"type": "function", "function": {"name": "final_answer"}}
    assert refund_desk(asked(*RESULTS, tools=[tool])).tool_calls == (("final_answer", {"answer": CLOSING}),)


def test_other_paths_are_no_model() -> None:
    assert refund_desk(Received("POST", "/effects/get_order", {}, b"{}")).tool_calls == ()
