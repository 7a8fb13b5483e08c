"""UUIDs of ``uuid_utils``, which are made in Rust: noted and given back like those of ``uuid``.

LangChain and LangSmith mint the ids of runs, and so of messages, by it.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agentdbg.recording import pins
from agentdbg.recording.frameworks.patches import replace_method

_FUNCTIONS = ("uuid1", "uuid4", "uuid6", "uuid7")


def install(module: ModuleType) -> None:
    """Patch ``uuid_utils.compat``; code that took a function from it before keeps that."""
    for name in _FUNCTIONS:
        replace_method(module, name, functools.partial(_minted, name))


def _minted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def mint(*args: Any, **kwargs: Any) -> Any:
        return pins.note(name, 1, lambda: original(*args, **kwargs), lambda frozen: uuid.UUID(str(frozen)), str)

    return mint
