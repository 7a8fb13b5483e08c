"""Values of LangChain and LangGraph taken apart into encodable ones, and made again.

The classes of the table below take part by their fields: what is in a record names an entry of the table, never code to
load, and a class counts when the program has imported it already. Objects of the agent's own are left to
`agentdbg.recording.revive`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from agentdbg.recording import revive

TAG = "$lc"
_MAPPING = "dict"
_MESSAGES = ("AIMessage", "HumanMessage", "SystemMessage", "ToolMessage", "FunctionMessage", "ChatMessage")
_HOMES: dict[str, tuple[str, ...]] = {
    "langchain_core.messages": (*_MESSAGES, *(f"{name}Chunk" for name in _MESSAGES), "RemoveMessage"),
    "langchain_core.documents": ("Document",),
    "langgraph.types": ("Command", "Send", "Interrupt", "Overwrite", "PregelTask", "StateSnapshot", "GraphOutput"),
    "langgraph.checkpoint.base": ("CheckpointTuple",),
    "langgraph.store.base": ("Item", "SearchItem"),
}
_TABLE = {name: module for module, names in _HOMES.items() for name in names}
_ITEM = ("namespace", "key", "value", "created_at", "updated_at")
_SLOTS = {"Send": ("node", "arg", "timeout"), "Item": _ITEM, "SearchItem": (*_ITEM, "score")}
"""Members of the classes that declare none: those that the constructor takes."""
_UNCHANGED = (str, int, float, bool, bytes, type(None))


class LangChainCodec:
    """Freezes and thaws; see `agentdbg.recording.framework_calls.Codec`.

    Attributes:
        given: Keep which fields an object was given, though they are as by default. A saver's copy has other ones, so
            that states, which are compared across copies, are frozen without.
    """

    def __init__(self, *, given: bool = True) -> None:
        self.given = given

    def freeze(self, value: Any) -> object:
        """``value`` with every known object in it as ``{"$lc": name, "v": its fields}``; itself when there is none."""
        return revive.freeze(_frozen(value, set(), self.given))

    def thaw(self, frozen: Any) -> Any:
        """The objects again. A marked mapping that names none of the known classes is given as it is.

        Raises:
            CannotRevive: An object of another class cannot be made again here.
        """
        return self._thawed(revive.thaw(frozen))

    def _thawed(self, frozen: Any) -> Any:
        if type(frozen) is dict:
            if frozen.keys() == {TAG, "v"}:
                return self._object(frozen)
            return {self._thawed(key): self._thawed(item) for key, item in frozen.items()}
        if type(frozen) is list:
            return [self._thawed(item) for item in frozen]
        if type(frozen) is tuple:
            return tuple(self._thawed(item) for item in frozen)
        return frozen

    def _object(self, frozen: dict[Any, Any]) -> Any:
        name, held = frozen[TAG], frozen["v"]
        if name == _MAPPING and isinstance(held, list):
            return {self._thawed(key): self._thawed(item) for key, item in held}
        kind = _known(name)
        if kind is None or not isinstance(held, dict):
            return frozen
        members = {str(key): self._thawed(item) for key, item in held.items()}
        construct = getattr(kind, "model_construct", None)
        return kind(**members) if construct is None else construct(set(members), **members)


CODEC = LangChainCodec()
STATES = LangChainCodec(given=False)


def _known(name: object) -> Any:
    """The class of that name in the table, where the program has it."""
    module = sys.modules.get(_TABLE.get(name, "")) if isinstance(name, str) else None
    return None if module is None else getattr(module, str(name), None)


def _frozen(value: Any, opened: set[int], given: bool) -> Any:
    if isinstance(value, _UNCHANGED) or id(value) in opened:
        return value
    opened.add(id(value))
    try:
        kind = type(value)
        if kind is dict or (isinstance(value, dict) and kind.__module__.startswith("langgraph.")):
            return _mapping(value, opened, given)
        if kind is list:
            items = [_frozen(item, opened, given) for item in value]
            return items if _differ(items, value) else value
        if kind is tuple:
            members = tuple(_frozen(item, opened, given) for item in value)
            return members if _differ(members, value) else value
        found = _members(value, given)
        if found is None:
            return value
        return {TAG: kind.__name__, "v": {name: _frozen(item, opened, given) for name, item in found.items()}}
    finally:
        opened.discard(id(value))


def _mapping(value: dict[Any, Any], opened: set[int], given: bool) -> Any:
    found = {key: _frozen(item, opened, given) for key, item in list(value.items())}
    if TAG in found:
        return {TAG: _MAPPING, "v": [[key, item] for key, item in found.items()]}
    return found if type(value) is not dict or _differ(found.values(), value.values()) else value


def _differ(made: Iterable[Any], given: Iterable[Any]) -> bool:
    return any(a is not b for a, b in zip(made, given, strict=False))


def _members(value: Any, given: bool) -> dict[str, Any] | None:
    kind = type(value)
    if kind.__name__ not in _TABLE or _known(kind.__name__) is not kind:
        return None
    names = _SLOTS.get(kind.__name__)
    if names is not None:
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    if isinstance(value, tuple):
        return dict(zip(kind._fields, value, strict=True))
    declared: Any = getattr(kind, "__pydantic_fields__", None)
    if declared is not None:
        return _of_model(value, declared, given)
    return {each.name: getattr(value, each.name) for each in fields(value) if each.init}


def _of_model(value: Any, declared: dict[str, Any], given: bool) -> dict[str, Any]:
    """What is not as it is by default, as most of a message is; and what was given, if that is to be kept."""
    held: dict[str, Any] = vars(value)
    kept: set[str] = value.model_fields_set if given else set()
    names = [name for name in declared if name in held]
    found = {name: held[name] for name in names if name in kept or not _is_default(declared[name], held[name])}
    return {**found, **(getattr(value, "__pydantic_extra__", None) or {})}


def _is_default(each: Any, value: object) -> bool:
    if each.is_required():
        return False
    get: Callable[..., object] = each.get_default
    default = get(call_default_factory=True)
    return type(default) is type(value) and default == value
