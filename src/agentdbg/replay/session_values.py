"""What a replay's session sends to the child and takes from it, checked and turned into values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentdbg.model.canonical import tree_of
from agentdbg.model.records import Json
from agentdbg.recording.revive import freeze
from agentdbg.replay.session_events import Paused
from agentdbg.replay.where import Frame


class CannotDo(Exception):
    """What was asked of a running replay cannot be; the message says why."""


def encoded_value(value: object) -> Json:
    """A value as it is recorded.

    Raises:
        CannotDo: It cannot be.
    """
    try:
        tree, opaque = tree_of(freeze(value))
    except ValueError as problem:
        raise CannotDo(f"that value cannot be encoded: {problem}") from problem
    if opaque:
        raise CannotDo(f"that value cannot be encoded: {opaque[0]}")
    return cast("Json", tree)


def check_arguments(held: Paused, tree: Json) -> None:
    """Whether a call can be made with these arguments at all.

    Raises:
        CannotDo: It cannot.
    """
    if not isinstance(tree, dict):
        raise CannotDo("arguments are a mapping, by name")
    known = held.arguments if isinstance(held.arguments, dict) else tree
    if unknown := [name for name in tree if name not in known]:
        raise CannotDo(f"{held.call.name} has no argument {unknown[0]!r}: there is {', '.join(known)}")


def frame_from(found: Mapping[str, Any]) -> Frame:
    """A frame that the child told of."""
    pairs = tuple((str(name), str(value)) for name, value in found.get("locals") or ())
    texts = {name: str(found.get(name)) for name in ("file", "function", "source")}
    return Frame(line=int(found.get("line") or 0), own=bool(found.get("own")), locals=pairs, **texts)
