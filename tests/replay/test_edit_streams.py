"""Edits of streamed answers: said in the recorded events, or refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

import pytest

from agentdbg.model.canonical import dumps, loads
from agentdbg.model.records import Json
from agentdbg.recording.providers import CHAT, MESSAGES, RESPONSES, Assembler
from agentdbg.replay.edit_streams import CannotEditStream, edited_parts

SSE: Json = [["Content-Type", "text/event-stream; charset=utf-8"]]


def chat(*pieces: str) -> list[dict[str, Any]]:
    head = {"id": "c1", "object": "chat.completion.chunk", "model": "m", "created": 1}
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    call = {"index": 0, "id": "t1", "type": "function", "function": {"name": "pay", "arguments": ""}}
    for arguments in ("", '{"amount":', " 5}"):
        part = {**call, "function": {"arguments": arguments, **({} if arguments else {"name": "pay"})}}
        events.append({**head, "choices": [{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": None}]})
    return [*events, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def messages(*pieces: str) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    texts = [{"type": "text_delta", "text": piece} for piece in pieces]
    events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in texts]
    tool = {"type": "tool_use", "id": "t1", "name": "pay", "input": {}}
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": tool},
    ]
    for piece in ('{"amount"', ": 5}"):
        delta = {"type": "input_json_delta", "partial_json": piece}
        events.append({"type": "content_block_delta", "index": 1, "delta": delta})
    stop = {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage}
    return [*events, {"type": "content_block_stop", "index": 1}, stop, {"type": "message_stop"}]


def responses(*pieces: str) -> list[dict[str, Any]]:
    text = "".join(pieces)
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "i1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    whole = {"id": "r1", "object": "response", "status": "completed", "model": "m", "output": [item]}
    at = {"item_id": "i1", "output_index": 0, "content_index": 0}
    started = {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}
    opened = {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    deltas = [{"type": "response.output_text.delta", **at, "delta": piece} for piece in pieces]
    done: list[dict[str, Any]] = [
        {"type": "response.output_text.done", **at, "text": text},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [started, added, opened, *deltas, *done]


def parts_of(provider: str, events: Iterable[dict[str, Any]], *, end: str = "") -> tuple[list[bytes], Json]:
    found = Assembler(provider)
    rows: list[Json] = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        rows.append([float(len(rows)), f"{name}data: {json.dumps(event)}\n\n"])
        found.feed(event.get("type"), copy.deepcopy(event))
    if end:
        rows.append([99.0, end])
        found.feed(None, "[DONE]")
    half = len(rows) // 2
    return [dumps(rows[:half]), dumps(rows[half:])], copy.deepcopy(found.result(ended=True).output)


CASES = {
    CHAT: (chat, "data: [DONE]\n\n"),
    MESSAGES: (messages, ""),
    RESPONSES: (responses, ""),
}


def set_at(tree: Any, path: tuple[str | int, ...], value: Json) -> None:
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


@pytest.mark.parametrize(
    ("provider", "path", "value"),
    [
        (CHAT, ("choices", 0, "message", "content"), "Nothing to pay: «ü» \n"),
        (CHAT, ("choices", 0, "message", "tool_calls", 0, "function", "arguments"), '{"amount": 7}'),
        (MESSAGES, ("content", 0, "text"), "Nothing to pay."),
        (MESSAGES, ("content", 1, "input", "amount"), 7),
        (RESPONSES, ("output", 0, "content", 0, "text"), "Nothing to pay."),
    ],
)
def test_an_edited_text_is_streamed_and_comes_to_the_edited_result(
    provider: str, path: tuple[str | int, ...], value: Json
) -> None:
    make, end = CASES[provider]
    parts, before = parts_of(provider, make("Pay ", "5 ", "now."), end=end)
    after = copy.deepcopy(before)
    set_at(after, path, value)
    found, came_to = edited_parts(parts, provider, SSE, before, after)
    assert came_to == after != before
    rows: list[Any] = [row for part in found for row in (loads(part) or ())]  # type: ignore[attr-defined]
    recorded: list[Any] = [row for part in parts for row in (loads(part) or ())]  # type: ignore[attr-defined]
    assert [row[0] for row in rows] == [row[0] for row in recorded]
    assert "Pay " not in "".join(row[1] for row in rows) or path[-1] != "text"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree: tree["choices"][0].update(finish_reason="length"), "finish_reason did not come in pieces"),
        (lambda tree: tree["choices"][0]["message"].update(content=5), "cannot|did not"),
        (lambda tree: tree.update(model="other"), "model did not come in pieces"),
        (lambda tree: tree.update(more=1), "did not come in pieces"),
    ],
)
def test_what_the_events_cannot_say_is_refused(change: Any, words: str) -> None:
    parts, before = parts_of(CHAT, chat("Pay ", "now."), end="data: [DONE]\n\n")
    after = copy.deepcopy(before)
    change(after)
    with pytest.raises(CannotEditStream, match=words):
        edited_parts(parts, CHAT, SSE, before, after)


def test_a_body_that_is_no_known_stream_is_refused() -> None:
    with pytest.raises(CannotEditStream, match="no stream of events"):
        edited_parts([], CHAT, [["content-type", "text/plain"]], {}, {"a": 1})
