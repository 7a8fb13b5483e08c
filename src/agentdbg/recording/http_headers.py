"""Served placeholders in a replayed program's headers: they are not ASCII, what they stand for was."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

_MARK = "__agentdbg__"


def patch(holder: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """Replace a function once; one that another tool has wrapped is wrapped again."""
    if not hasattr(getattr(holder, name), _MARK):
        setattr(wrapper, _MARK, True)
        setattr(holder, name, wrapper)


def take_placeholders(module: ModuleType) -> None:
    """Let a replayed program put served placeholders, which are not ASCII, into its headers."""
    set_item = module.Headers.__setitem__

    @functools.wraps(set_item)
    def set_header(self: Any, key: str, value: str) -> None:
        try:
            set_item(self, key, value)
        except UnicodeEncodeError:
            if not _replaying():
                raise
            self.encoding = "utf-8"
            set_item(self, key, value)

    patch(module.Headers, "__setitem__", set_header)
    models = getattr(module, "_models", None)
    original = getattr(models, "_normalize_header_value", None)
    if models is None or original is None:
        return

    @functools.wraps(original)
    def normalize(value: Any, encoding: str | None = None) -> Any:
        try:
            return original(value, encoding)
        except UnicodeEncodeError:
            if not _replaying():
                raise
            return value.encode("utf-8", "surrogatepass")

    patch(models, "_normalize_header_value", normalize)


def _replaying() -> bool:
    from agentdbg.recording.process import recorder

    found = recorder()
    return found is not None and found.answerer is not None
