"""The model call that the smaller desks share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletion

from agentdbg.demo.refund_desk import MODEL


def ask(client: OpenAI, messages: list[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> Any:
    """One model call; its message is added to the conversation and returned.

    The request is posted as it stands: the SDK's typed method walks through the whole conversation on every call, which
    takes longer than everything else once that is long.
    """
    request: dict[str, Any] = {"model": MODEL, "messages": messages, "temperature": 0, "tools": list(tools)}
    response: Any = client.post("/chat/completions", cast_to=ChatCompletion, body=request)
    message = response.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    return message
