"""How three provider APIs say the same thing: a text and tool calls, whole or as server-sent events.

Ids are random on every call, as a provider's are, so that nothing downstream can lean on them.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Event = tuple[str | None, Any]
"""Name of a server-sent event (``None``: data only) and its data; a string is sent as it is."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the provider says in one answer."""

    text: str
    tool_calls: tuple[tuple[str, Any], ...]
    pieces: int
    usage: tuple[int, int]

    def split(self, text: str) -> list[str]:
        """A text in about `pieces` parts."""
        size = max(1, -(-len(text) // self.pieces))
        return [text[at : at + size] for at in range(0, len(text), size)]


def new_id(prefix: str) -> str:
    """A random id in a provider's style."""
    return f"{prefix}{uuid.uuid4().hex[:24]}"


def resolved(model: str) -> str:
    """The full identifier behind a model name."""
    return model if model.endswith("-2026-01-01") else f"{model}-2026-01-01"


# OpenAI chat completions ---------------------------------------------------------------------------------------------


def chat_whole(request: dict[str, Any], said: Said) -> dict[str, Any]:
    """An OpenAI chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": None}
    if said.tool_calls:
        message["tool_calls"] = _chat_calls(said)
    finish = "tool_calls" if said.tool_calls else "stop"
    return {
        **_chat_head(request, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": _chat_usage(said),
    }


def chat_events(request: dict[str, Any], said: Said) -> Iterator[Event]:
    """The events of a streamed chat completion."""
    head = _chat_head(request, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": "" if said.text or not said.tool_calls else None})
    for piece in said.split(said.text):
        yield chunk({"content": piece})
    for index, call in enumerate(_chat_calls(said)):
        function = call["function"]
        opened = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield chunk({"tool_calls": [opened]})
        for piece in said.split(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if said.tool_calls else "stop")
    if (request.get("stream_options") or {}).get("include_usage"):
        yield None, {**head, "choices": [], "usage": _chat_usage(said)}
    yield None, "[DONE]"


def _chat_head(request: dict[str, Any], kind: str) -> dict[str, Any]:
    model = resolved(request["model"])
    return {"id": new_id("chatcmpl-"), "object": kind, "created": int(time.time()), "model": model}


def _chat_calls(said: Said) -> list[dict[str, Any]]:
    return [
        {"id": new_id("call_"), "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments in said.tool_calls
    ]


def _chat_usage(said: Said) -> dict[str, int]:
    sent, produced = said.usage
    return {"prompt_tokens": sent, "completion_tokens": produced, "total_tokens": sent + produced}


# OpenAI responses ----------------------------------------------------------------------------------------------------


def responses_whole(request: dict[str, Any], said: Said) -> dict[str, Any]:
    """An OpenAI response object."""
    return {**_response_head(request, "completed"), "output": _response_items(said), "usage": _response_usage(said)}


def responses_events(request: dict[str, Any], said: Said) -> Iterator[Event]:
    """The events of a streamed response."""
    head = {**_response_head(request, "in_progress"), "output": [], "usage": None}
    items = _response_items(said)
    done = {**head, "status": "completed", "output": items, "usage": _response_usage(said)}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": head},
        {"type": "response.in_progress", "response": head},
    ]
    for index, item in enumerate(items):
        empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        opened = {**item, "status": "in_progress", **empty}
        events.append({"type": "response.output_item.added", "output_index": index, "item": opened})
        make = _message_events if item["type"] == "message" else _function_events
        events.extend({**event, "item_id": item["id"], "output_index": index} for event in make(item, said))
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": done})
    for number, event in enumerate(events):
        yield event["type"], {**event, "sequence_number": number}


def _message_events(item: dict[str, Any], said: Said) -> Iterator[dict[str, Any]]:
    (part,) = item["content"]
    yield {"type": "response.content_part.added", "content_index": 0, "part": {**part, "text": ""}}
    for piece in said.split(part["text"]):
        yield {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", "content_index": 0, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", "content_index": 0, "part": part}


def _function_events(item: dict[str, Any], said: Said) -> Iterator[dict[str, Any]]:
    for piece in said.split(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", "delta": piece}
    yield {"type": "response.function_call_arguments.done", "name": item["name"], "arguments": item["arguments"]}


def _response_head(request: dict[str, Any], status: str) -> dict[str, Any]:
    return {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": time.time(),
        "status": status,
        "model": resolved(request["model"]),
        "previous_response_id": request.get("previous_response_id"),
        "instructions": request.get("instructions"),
        "parallel_tool_calls": True,
        "tool_choice": request.get("tool_choice", "auto"),
        "tools": request.get("tools", []),
        "temperature": request.get("temperature", 1.0),
        "top_p": request.get("top_p", 1.0),
        "metadata": {},
        "error": None,
        "incomplete_details": None,
    }


def _response_items(said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        message = {"id": new_id("msg_"), "type": "message", "role": "assistant", "status": "completed"}
        items.append({**message, "content": [part]})
    for name, arguments in said.tool_calls:
        call = {"id": new_id("fc_"), "type": "function_call", "status": "completed", "call_id": new_id("call_")}
        items.append({**call, "name": name, "arguments": json.dumps(arguments)})
    return items


def _response_usage(said: Said) -> dict[str, Any]:
    sent, produced = said.usage
    return {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": produced,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sent + produced,
    }


# Anthropic messages --------------------------------------------------------------------------------------------------


def messages_whole(request: dict[str, Any], said: Said) -> dict[str, Any]:
    """An Anthropic message."""
    sent, produced = said.usage
    return {
        **_message_head(request),
        "content": _message_blocks(said),
        "stop_reason": _stop_reason(said),
        "usage": {"input_tokens": sent, "output_tokens": produced},
    }


def messages_events(request: dict[str, Any], said: Said) -> Iterator[Event]:
    """The events of a streamed message."""
    sent, produced = said.usage
    head = {**_message_head(request), "content": [], "stop_reason": None}
    yield "message_start", {"message": {**head, "usage": {"input_tokens": sent, "output_tokens": 1}}}
    yield "ping", {}
    for index, block in enumerate(_message_blocks(said)):
        if block["type"] == "text":
            opened, deltas = (
                {**block, "text": ""},
                [{"type": "text_delta", "text": p} for p in said.split(block["text"])],
            )
        else:
            opened = {**block, "input": {}}
            parts = said.split(json.dumps(block["input"]))
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        yield "content_block_start", {"index": index, "content_block": opened}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    stop = {"stop_reason": _stop_reason(said), "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {"output_tokens": produced}}
    yield "message_stop", {}


def _message_head(request: dict[str, Any]) -> dict[str, Any]:
    model = resolved(request["model"])
    return {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": model, "stop_sequence": None}


def _message_blocks(said: Said) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": said.text}] if said.text else []
    calls = [{"type": "tool_use", "id": new_id("toolu_"), "name": n, "input": a} for n, a in said.tool_calls]
    return text + calls


def _stop_reason(said: Said) -> str:
    return "tool_use" if said.tool_calls else "end_turn"
