"""JSON-RPC messages of the Model Context Protocol as its Python package holds them, old versions and new ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any


class McpFailure(Exception):
    """A server answered a request with an error: code, message, data."""


def envelope(item: Any) -> Any:
    """The JSON-RPC message in what goes through a transport's streams."""
    message = getattr(item, "message", item)
    return getattr(message, "root", message)


def is_request(message: Any) -> bool:
    """Whether it wants an answer."""
    return hasattr(message, "method") and getattr(message, "id", None) is not None


def answered_id(message: Any) -> Any:
    """The id of the request that a message answers; ``None`` when it answers none."""
    is_answer = hasattr(message, "result") or hasattr(message, "error")
    return getattr(message, "id", None) if is_answer else None


def params_of(message: Any) -> dict[str, Any]:
    """A request's parameters, without what is about the exchange itself (progress tokens carry the request's id)."""
    params: Any = getattr(message, "params", None)
    if hasattr(params, "model_dump"):
        params = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {key: value for key, value in params.items() if key != "_meta"} if isinstance(params, Mapping) else {}


def result_of(message: Any) -> Any:
    """What a server answered.

    Raises:
        McpFailure: It answered with an error.
    """
    if hasattr(message, "result"):
        found = message.result
        return (
            found.model_dump(by_alias=True, mode="json", exclude_none=True) if hasattr(found, "model_dump") else found
        )
    error = message.error
    raise McpFailure(error.code, error.message, getattr(error, "data", None))


def plain(message: Any) -> dict[str, Any]:
    """A message as JSON."""
    found: dict[str, Any] = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
    return {"jsonrpc": "2.0", **found}


def answer(identity: Any, result: Any) -> dict[str, Any]:
    """The JSON of an answer."""
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def failure(identity: Any, error: Exception) -> dict[str, Any]:
    """The JSON of an answer that is an error."""
    code, text, data = (*error.args, None, None, None)[:3]
    found = {"code": code if isinstance(code, int) else -32603, "message": str(text or error)}
    return {"jsonrpc": "2.0", "id": identity, "error": found if data is None else {**found, "data": data}}


def built(like: Any, data: Mapping[str, Any]) -> Any:
    """A message of ``data`` in the same wrapping as ``like`` has, which was sent."""
    message = getattr(like, "message", like)
    if hasattr(message, "root"):
        made = type(message).model_validate(dict(data))
    else:
        adapter = vars(sys.modules["mcp_types"])["jsonrpc_message_adapter"]
        made = adapter.validate_json(json.dumps(dict(data)), by_name=False)
    return made if like is message else type(like)(made)
