"""Bodies of a given size: words, names and numbers as agents exchange them, without anything that must be redacted."""

from __future__ import annotations

import random
from typing import Any

_TEXT = (
    "the order was placed on and delivered to customer with a broken zip so we offer refund or replacement according "
    "to policy section returns within thirty days after delivery manual approval is required above limit shipping "
    "label sent item blue jacket size medium status pending warehouse note carrier delay please confirm agent reply"
)
_WORDS = _TEXT.split()


def words(size: int, seed: int) -> str:
    """Text of about ``size`` bytes, different for every seed."""
    source = random.Random(seed)
    found: list[str] = []
    length = 0
    while length < size:
        word = source.choice(_WORDS) if source.random() < 0.9 else str(source.randrange(10_000))
        found.append(word)
        length += len(word) + 1
    return " ".join(found)[:size]


def tool_call(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments and result of a 2 KB tool call."""
    arguments = {"order": f"A-{seed}", "question": words(160, seed)}
    items = [{"sku": f"S{seed % 97}-{n}", "price": 12.5 + n, "note": words(150, 31 * seed + n)} for n in range(4)]
    result = {"order": f"A-{seed}", "status": "delivered", "items": items, "policy": words(800, seed + 1)}
    return arguments, result


def chat(size: int, seed: int, *, tools: int = 0) -> dict[str, Any]:
    """A chat request of ``size`` bytes; the last message differs for every seed, what stands before it does not."""
    schemas = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": words(800, n), "parameters": _SCHEMA}}
        for n in range(tools)
    ]
    rest = size - tools * 1000 - 300
    messages = [{"role": "system", "content": words(rest // 2, 1)}]
    messages += [
        {"role": "user" if n % 2 == 0 else "assistant", "content": words(rest // 12, 100 + n)} for n in range(6)
    ]
    messages.append({"role": "user", "content": words(150, 1000 + seed)})
    request: dict[str, Any] = {"model": "bench-model", "messages": messages, "temperature": 0}
    return {**request, "tools": schemas} if tools else request


def completion(text: str) -> dict[str, Any]:
    """A chat completion that says ``text``."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": "bench-model-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5000, "completion_tokens": 100, "total_tokens": 5100},
    }


_SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
