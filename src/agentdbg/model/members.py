"""The members of objects whose classes declare them: shown and compared, though the object cannot be made again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import EnumMeta
from types import SimpleNamespace
from typing import Any

_MISSING = object()


def members_of(value: object) -> dict[str, object] | None:
    """Names and values that make up a dataclass, an enum member, a namespace, a pydantic or an attrs object.

    ``None`` for everything else: what an arbitrary object holds is its own business, and may be half the program.
    """
    try:
        return _members(value)
    except Exception:  # the agent's own classes take part
        return None


def _members(value: object) -> dict[str, object] | None:
    kind: Any = type(value)
    if isinstance(kind, EnumMeta):
        member: Any = value
        return {"name": member._name_, "value": member._value_}
    if isinstance(value, SimpleNamespace) or (kind.__module__, kind.__qualname__) == ("argparse", "Namespace"):
        return {str(name): held for name, held in vars(value).items()}
    names = _declared(kind)
    if names is None:
        return None
    found = ((name, getattr(value, name, _MISSING)) for name in names)
    return {name: held for name, held in found if held is not _MISSING}


def _declared(kind: Any) -> Iterable[str] | None:
    if isinstance(getattr(kind, "__dataclass_fields__", None), Mapping):
        return [each.name for each in fields(kind)]
    declared = getattr(kind, "__pydantic_fields__", None)
    if isinstance(declared, Mapping):
        return [str(name) for name in declared]
    attributes = getattr(kind, "__attrs_attrs__", None)
    return [str(each.name) for each in attributes] if isinstance(attributes, tuple) else None
