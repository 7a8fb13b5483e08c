"""What MCP servers declare about their tools: read only, or destructive."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

MOST = 10_000
_declared: dict[str, str | None] = {}


def effect_by(annotations: Any) -> str | None:
    """The side-effect level that a tool's annotations declare, if they do: an object's attributes or a mapping."""
    get = functools.partial(_held, annotations)
    for effect, names in (
        ("read", ("readOnlyHint", "read_only_hint")),
        ("external", ("destructiveHint", "destructive_hint")),
    ):
        if any(get(name) is True for name in names):
            return effect
    return None


def _held(annotations: Any, name: str) -> Any:
    return annotations.get(name) if isinstance(annotations, Mapping) else getattr(annotations, name, None)


def learn(tools: Iterable[Any]) -> None:
    """A server has listed its tools, as the protocol has it. Of two servers' tools of one name nothing is believed."""
    for tool in tools:
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str) and len(_declared) < MOST:
            effect = effect_by(tool.get("annotations") or {})
            _declared[plain(name)] = effect if _declared.get(plain(name), effect) == effect else None


def effect_of(name: str) -> str | None:
    """What was declared of a tool that is known to be a server's."""
    return _declared.get(plain(name))


def has_listed(name: str) -> bool:
    """Whether a server has listed a tool that a framework offers under this name, or with a prefix of its own."""
    found = plain(name)
    return found in _declared or any(found.endswith(f"_{each}") for each in _declared)


def plain(name: str) -> str:
    """A tool's name as frameworks spell it that allow fewer characters."""
    return re.sub(r"\W", "_", name)
