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
GEMINI: dict[str, Json] = {
    "contents": [{"parts": [{"text": "hi"}]}, {"role": "model", "parts": []}],
    "systemInstruction": {"parts": [{"text": "be brief"}]},
    "tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "add"}, {"name": "sub"}], "urlContext": {}}],
    "generationConfig": {"temperature": 0},
}
CONVERSE: dict[str, Json] = {
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
    "system": [{"text": "be brief"}, {"cachePoint": {"type": "default"}}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "add"}}], "toolChoice": {"auto": {}}},
}
GENERATE: dict[str, Json] = {"model": "m", "prompt": "hi", "system": "be brief", "options": {"seed": 1}}
COHERE: dict[str, Json] = {
    "messages": [{"role": "user", "content": "hi"}],
    "documents": ["a text", {"id": "d1", "data": {"t": "x"}}],
}
ODD: dict[str, Json] = {
    "tools": [
        {"functionDeclarations": 3},
        {"functionDeclarations": [], "function_declarations": [1]},
        {"functionDeclarations": [{"$segments": "tools"}]},
        {"function_declarations": []},
        7,
    ],
    "toolConfig": {"tools": [1]},
    "systemInstruction": {"$segments": "@systemInstruction"},
}


@pytest.mark.parametrize(
    "body",
    [
        *(CHAT, RESPONSES, RESPONSES_TEXT, ANTHROPIC, GEMINI, CONVERSE, GENERATE, COHERE, ODD),
        *({}, {"messages": [], "tools": []}, {"system": "s"}, {"toolConfig": {"tools": []}}),
    ],
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


def test_segments_of_other_providers_are_of_the_same_kinds() -> None:
    def named(body: dict[str, Json]) -> list[tuple[str, str]]:
        return [(part.kind, part.name) for part in split_request(body)[1:]]

    assert named(GEMINI) == [
        ("tool_schema", "googleSearch"),
        ("tool_schema", "add"),
        ("tool_schema", "sub"),
        ("system", "@systemInstruction"),
        ("message", "user"),
        ("message", "model"),
    ]
    assert named(CONVERSE) == [
        ("tool_schema", "add"),
        ("system", "@system[0]"),
        ("system", "@system[1]"),
        ("message", "user"),
    ]
    assert named(GENERATE) == [("system", "@system"), ("message", "@prompt")]
    assert named(COHERE) == [("retrieved", "@documents[0]"), ("retrieved", "@documents[1]"), ("message", "user")]


def test_a_growing_conversation_keeps_its_prefix() -> None:
    longer = {**CHAT, "messages": [*CHAT["messages"], {"role": "user", "content": "more"}]}  # type: ignore[misc]
    before, after = split_request(CHAT), split_request(longer)
    assert common_prefix(before, after) == len(before) == len(after) - 1


INNER = st.text(max_size=8) | st.sampled_from(["$segments", "tools", "functionDeclarations", "function_declarations"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(INNER, inner, max_size=3),
    max_leaves=8,
)
NAMES = ["messages", "input", "contents", "tools", "toolConfig", "system", "instructions", "systemInstruction"]
keys = st.sampled_from([*NAMES, "prompt", "documents", "model", "x"])


@given(st.dictionaries(keys, json_values, max_size=5))
@settings(deadline=None)
def test_an_odd_request_is_not_damaged(body: dict[str, Json]) -> None:
    assert join_request(split_request(body)) == body
