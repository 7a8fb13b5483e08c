"""Model calls in memory, as they would have been recorded, to be asked again."""

from __future__ import annotations

import threading
from typing import Any

from agentdbg.model.records import Kind, RunStatus, RunSummary, Segment, Step, Usage
from agentdbg.model.segments import split_request
from agentdbg.replay.ask import Asked, ask, recorded_answer
from agentdbg.replay.ask_request import Question, prepare
from tests.support.memory_source import MemorySource

CHAT: dict[str, Any] = {
    "model": "small-1",
    "temperature": 0,
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Refund A-1042, please."}],
    "tools": [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}],
}
REFUND: dict[str, Any] = {
    "model": "small-1-2026-07-01",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "refund", "arguments": '{"order": "A-1042"}'}}
                ],
            },
        }
    ],
}


def recorded(
    url: str = "https://api.openai.com/v1/chat/completions",
    body: dict[str, Any] | None = None,
    answer: dict[str, Any] | None = None,
    headers: list[list[str]] | None = None,
    **attrs: Any,
) -> tuple[MemorySource, Step]:
    """A run with one model call."""
    source = MemorySource(RunSummary("run-1", RunStatus.OK))
    parts = split_request(body or CHAT)
    segments = [Segment(part.kind, part.name, source.put(part.value)) for part in parts]
    sent = headers if headers is not None else [["Authorization", "Bearer ⟦R:field:40:0123456789ab⟧"]]
    known = {"request_headers": sent, "model": "small-1-2026-07-01", **({"url": url} if url else {}), **attrs}
    result = source.put(answer if answer is not None else REFUND)
    step = Step(1, "w:1", Kind.MODEL, "small-1", result=result, usage=Usage(100, 20), latency_ms=5.0, attrs=known)
    return source, source.add(step, segments)


def question(made: tuple[MemorySource, Step], **options: Any) -> Question:
    """What is asked; the user's key is ``k``."""
    given = {"trusted": True, "environ": {"OPENAI_API_KEY": "sk-test-key-1234", "ANTHROPIC_API_KEY": "sk-ant-1"}}
    return prepare(*made, **{**given, **options})


def asked(made: tuple[MemorySource, Step], samples: int = 1, *, timeout: float = 10, **options: Any) -> Asked:
    """The answers."""
    wanted = question(made, **options)
    before = recorded_answer(*made, wanted)
    return ask(wanted, samples, recorded=before, timeout=timeout, stop=threading.Event())
