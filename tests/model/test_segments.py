"""A model input cut into segments and put together again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.model.canonical import dumps_json
from agentdbg.model.records import Json
from agentdbg.model.segments import common_prefix, join_request, split_request

CHAT: dict[str, Json] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "developer", "content": "late rule"},
    ],
    "temperature": 0.2,
    "tools": [{"type": "function", "function": {"name": "add"}}],
}
RESPONSES: dict[str, Json] = {
    "model": "m",
    "instructions": "be brief",
    "input": [{"role": "user", "content": "hi"}, {"type": "reasoning"}],
}
RESPONSES_TEXT: dict[str, Json] = {"model": "m", "input": "hi", "instructions": None}
ANTHROPIC: dict[str, Json] = {
    "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    "model": "m",
    "tools": [{"name": "add", "input_schema": {}}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
}


@pytest.mark.parametrize(
    "body", [CHAT, RESPONSES, RESPONSES_TEXT, ANTHROPIC, {}, {"messages": [], "tools": []}, {"system": "s"}]
)
def test_segments_give_the_request_back_key_order_included(body: dict[str, Json]) -> None:
    assert dumps_json(join_request(split_request(body))) == dumps_json(body)


def test_each_message_tool_and_system_text_is_a_segment_of_its_kind() -> None:
    kinds = [(part.kind, part.name) for part in split_request(CHAT)]
    assert kinds == [
        ("parameters", ""),
        ("tool_schema", "add"),
        ("system", "system"),
        ("message", "user"),
        ("message", "assistant"),
        ("message", "tool"),
        ("system", "developer"),
    ]
    assert [part.name for part in split_request(ANTHROPIC) if part.kind == "system"] == ["@system[0]", "@system[1]"]
    assert [part.name for part in split_request(RESPONSES) if part.kind == "system"] == ["@instructions"]


def test_a_growing_conversation_keeps_its_prefix() -> None:
    longer = {**CHAT, "messages": [*CHAT["messages"], {"role": "user", "content": "more"}]}  # type: ignore[misc]
    before, after = split_request(CHAT), split_request(longer)
    assert common_prefix(before, after) == len(before) == len(after) - 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.just("$segments"), inner, max_size=3)
    ),
    max_leaves=8,
)
keys = st.sampled_from(["messages", "input", "tools", "system", "instructions", "model", "x"])


@given(st.dictionaries(keys, json_values, max_size=5))
@settings(deadline=None)
def test_an_odd_request_is_not_damaged(body: dict[str, Json]) -> None:
    assert join_request(split_request(body)) == body
