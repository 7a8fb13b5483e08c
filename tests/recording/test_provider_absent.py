"""What only stands in a request as a reference is said, with every provider."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.recording.provider_absent import absent_from


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"cachedContent": "cachedContents/1"}, "cachedContent"),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "https://x/files/1"}}]}]}, "address"),
        ({"contents": [{"parts": [{"file_data": {"file_uri": "gs://b/o"}}]}]}, "address"),
        ({"tools": [{"googleSearch": {}}]}, "the tool googleSearch is run by the provider"),
        ({"tools": [{"codeExecution": {}, "functionDeclarations": []}]}, "the tool codeExecution is run"),
        ({"tools": [{"computerUse": {}}]}, "the tool computerUse is defined by the provider"),
        ({"tools": [{"googleSearch": {}, "urlContext": {}}]}, "the tool urlContext is run"),
        ({"toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]}}, "the tool nova_grounding is run"),
        ({"messages": [{"content": [{"image": {"source": {"s3Location": {"uri": "s3://b/k"}}}}]}]}, "address"),
        ({"guardrailConfig": {"guardrailIdentifier": "g"}}, "guardrail"),
        ({"promptVariables": {"x": {"text": "y"}}}, "prompt template"),
        ({"agent_id": "ag_1", "messages": []}, "agent's instructions"),
        ({"messages": [{"content": [{"type": "document_url", "document_url": "https://x/y.pdf"}]}]}, "address"),
        ({"prompt": {"id": "p"}}, "prompt template"),
    ],
)
def test_a_reference_is_named(body: dict[str, Any], word: str) -> None:
    assert any(word in words for words in absent_from(body)), absent_from(body)


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [{"functionDeclarations": [{"name": "f"}]}], "contents": [{"parts": [{"text": "x"}]}]},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "f"}}, {"cachePoint": {"type": "default"}}]}},
        {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
        {"tools": [{"name": "f", "input_schema": {}}, {"function": {"name": "g"}}]},
        {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]}]},
        {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": {"uri": "https://x"}}}]}]},
        {"messages": [{"content": [{"toolResult": {"content": [{"json": {"url": "https://x"}}]}}]}]},
        {"model": "m", "prompt": "a plain text", "suffix": "x"},
    ],
)
def test_what_is_there_is_not_named(body: dict[str, Any]) -> None:
    assert absent_from(body) == ()


def test_a_prompt_arn_names_a_prompt_on_the_server() -> None:
    assert "prompt" in absent_from({}, "arn:aws:bedrock:us-east-1:1:prompt/ABC:1")[0]
