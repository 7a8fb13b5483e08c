"""Pydantic's validation errors, made again in a replay: they have no constructor, and their arguments are elsewhere.

Frameworks show them to the model, word for word, when it has called a tool with wrong arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

_MODULE = "pydantic_core._pydantic_core"
_RAISED = {"value_error": ValueError, "assertion_error": AssertionError}


def is_validation_error(kind: type) -> bool:
    """Whether a class is pydantic's."""
    return kind.__module__ == _MODULE and kind.__qualname__ == "ValidationError"


def parts(error: Any) -> list[object]:
    """What a validation error is made of."""
    return [error.title, [_line(line) for line in error.errors(include_url=False)]]


def _line(line: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {name: line[name] for name in ("type", "loc", "msg", "input") if name in line}
    context = line.get("ctx")
    if context:
        found["ctx"] = {name: str(item) if isinstance(item, Exception) else item for name, item in context.items()}
    return found


def made(kind: Any, arguments: Sequence[Any]) -> BaseException | None:
    """The error again; ``None`` when these are not its parts."""
    core: Any = sys.modules.get("pydantic_core")
    if core is None or len(arguments) != 2 or not isinstance(arguments[1], list):
        return None
    title, lines = arguments
    try:
        error: BaseException = kind.from_exception_data(str(title), [_made_line(core, line) for line in lines])
    except (TypeError, ValueError, KeyError):
        return None
    return error


def _made_line(core: Any, line: Mapping[str, Any]) -> dict[str, Any]:
    name, context = line["type"], dict(line.get("ctx") or {})
    found: dict[str, Any] = {"type": name, "loc": tuple(line.get("loc") or ()), "input": line.get("input")}
    if name in _RAISED and "error" in context:
        context["error"] = _RAISED[name](context["error"])
    elif not _is_known(core, name, context):
        return {**found, "type": core.PydanticCustomError(name, str(line.get("msg")))}
    return {**found, "ctx": context} if context else found


def _is_known(core: Any, name: str, context: dict[str, Any]) -> bool:
    """Whether an error is one of pydantic's own, and not a validator's."""
    try:
        core.PydanticKnownError(name, context or None)
    except (KeyError, TypeError):
        return False
    return True
