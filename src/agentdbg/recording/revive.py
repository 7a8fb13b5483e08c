"""Objects that a replay makes again from their members: dataclasses, pydantic and attrs objects, enums, named tuples,
mappings of classes of their own, ``deque`` and ``bytearray``.

``freeze`` takes them apart when a result is written down, ``thaw`` makes them again in a replay. A record is not to be
trusted: classes are looked up among the modules that are loaded already, have to be of these kinds, and no code of
theirs is run: no constructor, no ``__setstate__``, no property. What cannot be made again stays what it was.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from enum import EnumMeta
from functools import cached_property
from types import MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, cast

from agentdbg.model.canonical import Opaque
from agentdbg.model.json_text import MAX_DEPTH
from agentdbg.recording.interrupts import let_through

BASE_TYPE = "a replay gets the base type"
"""How the hole of a step begins whose result is of a class derived from a builtin one that is not made again."""
_HEAP_TYPE = 1 << 9
_PYDANTIC = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
_UNSET, _REST, _EXTRA, _PRIVATE = "unset", "rest", "extra", "private"
_FACTORY, _LONGEST, _ITEMS, _BYTES = "factory", "longest", "items", "bytes"
_DICTS: tuple[type[dict[Any, Any]], ...] = (OrderedDict, defaultdict, dict)
_FACTORIES: Mapping[str, type] = {each.__name__: each for each in (dict, float, int, list, set, str, tuple)}
_MISSING = object()


class CannotRevive(ValueError):
    """An object of the record cannot be made again in this process."""


# -- taking apart ---------------------------------------------------------------------------------


def freeze(value: Any) -> Any:
    """``value`` with every object that can be made again replaced by its class's name and members.

    The value itself where there is none, or where it holds itself.
    """
    try:
        return _frozen(value, 0, [])
    except (CannotRevive, RecursionError):
        return value


def _frozen(value: Any, depth: int, open_ids: list[int]) -> Any:
    kind = type(value)
    if kind in _LEAVES:
        return value
    if depth > MAX_DEPTH or id(value) in open_ids:
        raise CannotRevive("it contains itself, or nests too deeply")
    open_ids.append(id(value))
    try:
        if kind in (dict, list, tuple, set, frozenset):
            return _frozen_members(value, lambda item: _frozen(item, depth + 1, open_ids))
        return _frozen_object(value, kind, lambda item: _frozen(item, depth + 3, open_ids))
    finally:
        open_ids.pop()


def _frozen_members(value: Any, inner: Callable[[Any], Any]) -> Any:
    """A container with its members frozen; itself when nothing changed."""
    if type(value) is dict:
        pairs = [(inner(key), inner(item)) for key, item in value.copy().items()]
        same = all(
            key is old and item is found for (key, item), (old, found) in zip(pairs, value.items(), strict=False)
        )
        return value if same else dict(pairs)
    items = list(value)
    made = [inner(item) for item in items]
    return value if all(a is b for a, b in zip(made, items, strict=True)) else type(value)(made)


def _frozen_object(value: Any, kind: type, inner: Callable[[Any], Any]) -> Any:
    try:
        parts = _parts(value, kind)
    except Exception as error:  # the agent's own classes take part
        let_through(error)
        return value
    if parts is None:
        return value
    members, more = parts
    found = {name: inner(item) for name, item in members.items()}
    return Opaque(_name(kind), found, {name: inner(item) for name, item in more.items()} or None)


def _parts(value: Any, kind: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The members of an object that can be made again, and what else it is made of; ``None`` for every other one."""
    if kind is SimpleNamespace:
        return dict(vars(value)), {}
    if kind is bytearray:
        return {_BYTES: bytes(value)}, {}
    if not _is_revivable(kind) or _found(_name(kind)) is not kind:
        return None
    if kind is deque:
        return {_ITEMS: list(value)}, {} if value.maxlen is None else {_LONGEST: value.maxlen}
    if issubclass(kind, dict):
        return _dict_parts(value, kind)
    if isinstance(kind, EnumMeta):
        known = kind.__members__.get(value._name_) is value
        return ({"name": value._name_, "value": value._value_}, {}) if known else None
    if issubclass(kind, tuple):
        return dict(zip(kind._fields, value, strict=True)), {}
    names = _fields(kind)
    members = {name: _held(value, kind, name) for name in names}
    rest = {name: item for name, item in _dict(value).items() if name not in members}
    rest = {name: item for name, item in rest.items() if not isinstance(_attribute(kind, name), cached_property)}
    more = _pydantic_parts(value, names) if _is_pydantic(kind) else {}
    if rest:
        more[_REST] = rest
    return {name: item for name, item in members.items() if item is not _MISSING}, more


def _dict_parts(value: Any, kind: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    more: dict[str, Any] = {}
    if issubclass(kind, defaultdict) and value.default_factory is not None:
        name = getattr(value.default_factory, "__name__", "")
        if _FACTORIES.get(name) is not value.default_factory:
            return None
        more[_FACTORY] = name
    if rest := _dict(value):
        more[_REST] = dict(rest)
    return dict(dict.items(value)), more


def _pydantic_parts(value: Any, names: list[str]) -> dict[str, Any]:
    given, extra, private = (object.__getattribute__(value, name) for name in _PYDANTIC)
    found = {_UNSET: sorted(set(names) - given), _EXTRA: extra, _PRIVATE: private}
    return {name: item for name, item in found.items() if item}


def _held(value: Any, kind: type, name: str) -> Any:
    place = _attribute(kind, name)
    if isinstance(place, MemberDescriptorType):
        try:
            return place.__get__(value)
        except AttributeError:
            return _MISSING
    return _dict(value).get(name, _MISSING)


# -- making again ---------------------------------------------------------------------------------


def thaw(value: Any) -> Any:
    """``value`` as ``freeze`` got it.

    Raises:
        CannotRevive: An object's class is not loaded, is not what it was, or is none that may be made again.
    """
    kind = type(value)
    if kind is Opaque:
        return _thawed(value)
    if kind in (dict, list, tuple, set, frozenset):
        return _frozen_members(value, thaw)
    return value


def _thawed(opaque: Opaque) -> Any:
    if not isinstance(opaque.members, dict):
        raise CannotRevive(f"a {opaque.type_name} could not be recorded")
    members: dict[str, Any] = {name: thaw(item) for name, item in opaque.members.items()}
    if opaque.type_name == "types.SimpleNamespace":
        made = SimpleNamespace()
        vars(made).update(members)
        return made
    if opaque.type_name == "builtins.bytearray":
        return bytearray(_of_type(members.get(_BYTES), bytes))
    kind: Any = _found(opaque.type_name)
    if kind is None:
        raise CannotRevive(f"there is no class {opaque.type_name} in the modules that are loaded")
    if not _is_revivable(kind):
        raise CannotRevive(f"a {opaque.type_name} cannot be made again")
    if isinstance(kind, EnumMeta):
        return _enum_member(kind, members)
    if issubclass(kind, tuple):
        if list(members) != list(kind._fields):
            raise CannotRevive(f"{opaque.type_name} has other fields now")
        return tuple.__new__(kind, members.values())
    more = {name: thaw(item) for name, item in opaque.more.items()} if isinstance(opaque.more, dict) else {}
    if kind is deque:
        longest = more.get(_LONGEST)
        return deque(_of_type(members.get(_ITEMS), list), longest if isinstance(longest, int) else None)
    if issubclass(kind, dict):
        return _filled_dict(kind, members, more)
    return _filled(kind, members, more)


def _enum_member(kind: Any, members: Mapping[str, Any]) -> Any:
    found = kind._member_map_.get(members.get("name"))
    if found is None or type(found._value_) is not type(members.get("value")) or found._value_ != members.get("value"):
        raise CannotRevive(f"{kind.__qualname__} has no such member now")
    return found


def _filled(kind: Any, members: dict[str, Any], more: dict[str, Any]) -> Any:
    names = _fields(kind)
    if not set(members) <= set(names):
        raise CannotRevive(f"{kind.__qualname__} has other fields now")
    rest = more.get(_REST)
    rest = {name: item for name, item in rest.items() if _is_plain(name)} if isinstance(rest, dict) else {}
    made = object.__new__(kind)
    for name, item in (*members.items(), *rest.items()):
        place = _attribute(kind, name)
        if isinstance(place, MemberDescriptorType) and name in members:
            place.__set__(made, item)
        else:
            object.__getattribute__(made, "__dict__")[name] = item
    if _is_pydantic(kind):
        unset = more.get(_UNSET)
        given = set(members) - set(unset if isinstance(unset, list) else ())
        for name, item in zip(_PYDANTIC, (given, more.get(_EXTRA), more.get(_PRIVATE)), strict=True):
            object.__setattr__(made, name, item)
        _complete(kind, made)
    return made


def _filled_dict(kind: Any, members: dict[Any, Any], more: dict[str, Any]) -> Any:
    base: Any = next(each for each in _DICTS if issubclass(kind, each))
    made = base.__new__(kind)
    if base is defaultdict:
        vars(defaultdict)["default_factory"].__set__(made, _FACTORIES.get(str(more.get(_FACTORY))))
    for key, item in members.items():
        base.__setitem__(made, key, item)
    if isinstance(rest := more.get(_REST), dict):
        object.__getattribute__(made, "__dict__").update({name: rest[name] for name in rest if _is_plain(name)})
    return made


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise CannotRevive(f"a {kind.__name__} was expected")
    return value


def _is_plain(name: object) -> bool:
    return isinstance(name, str) and not name.startswith("__")


def _complete(kind: Any, made: Any) -> None:
    """What pydantic itself sets to an empty mapping rather than to nothing."""
    if made.__pydantic_extra__ is None and (_attribute(kind, "model_config") or {}).get("extra") == "allow":
        object.__setattr__(made, "__pydantic_extra__", {})
    if made.__pydantic_private__ is None and _attribute(kind, "__private_attributes__"):
        object.__setattr__(made, "__pydantic_private__", {})


# -- classes --------------------------------------------------------------------------------------


def _name(kind: Any) -> str:
    module = str(kind.__module__)
    return f"{'__main__' if module == '__mp_main__' else module}.{kind.__qualname__}"


def _found(name: str) -> Any:
    """The class of that name in a module that is loaded; nothing is imported, no module is asked."""
    parts = name.split(".")
    for at in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:at]))
        if not isinstance(module, ModuleType):
            continue
        holder: Any = module
        members: Mapping[str, Any] = ModuleType.__getattribute__(module, "__dict__")
        for part in parts[at:]:
            holder = members.get(part)
            if not isinstance(holder, type):
                break
            members = type.__getattribute__(holder, "__dict__")
        else:
            return holder if _name(holder) == name else None
    return None


def _is_revivable(kind: Any) -> bool:
    """Whether objects of a class are made of their members alone, and can be made without running code of its own."""
    if not isinstance(kind, type) or _attribute(kind, "__del__") is not None:
        return False
    if isinstance(kind, EnumMeta) or kind is deque:
        return True
    mro = type.__getattribute__(kind, "__mro__")
    foreign = [base for base in mro if base is not object and not base.__flags__ & _HEAP_TYPE]
    if issubclass(kind, tuple):
        names = _attribute(kind, "_fields")
        return foreign == [tuple] and isinstance(names, tuple) and not kind.__dictoffset__
    if foreign and foreign == [base for base in _DICTS if base in foreign]:
        return not _slots(tuple(base for base in mro if base not in foreign))
    if foreign or not (_is_declared(kind)):
        return False
    names = _fields(kind)
    places = [_attribute(kind, name) for name in names]
    if _slots(mro) - {*names, *(_PYDANTIC if _is_pydantic(kind) else ())}:
        return False
    return not any(hasattr(type(place), "__set__") and not isinstance(place, MemberDescriptorType) for place in places)


def _slots(mro: tuple[type, ...]) -> set[str]:
    members = (type.__getattribute__(base, "__dict__").items() for base in mro)
    return {name for found in members for name, held in found if isinstance(held, MemberDescriptorType)}


def _is_declared(kind: Any) -> bool:
    if _is_pydantic(kind):
        return _model_fields(kind) is not None
    return any(_attribute(kind, name) is not None for name in ("__dataclass_fields__", "__attrs_attrs__"))


def _is_pydantic(kind: Any) -> bool:
    """A pydantic model; its dataclasses are dataclasses."""
    return isinstance(_attribute(kind, "__pydantic_fields_set__"), MemberDescriptorType)


def _fields(kind: Any) -> list[str]:
    if _is_pydantic(kind):
        return [str(name) for name in _model_fields(kind) or ()]
    declared = _attribute(kind, "__dataclass_fields__")
    if isinstance(declared, Mapping):
        return [str(name) for name, each in declared.items() if each._field_type.name == "_FIELD"]
    return [str(each.name) for each in cast("tuple[Any, ...]", _attribute(kind, "__attrs_attrs__"))]


def _model_fields(kind: Any) -> Mapping[str, Any] | None:
    found = _attribute(kind, "__pydantic_fields__") or _attribute(kind, "model_fields")  # the latter before 2.10
    return found if isinstance(found, Mapping) else None


def _attribute(kind: type, name: str) -> Any:
    """What a class or a base of it holds under a name, without asking a descriptor or a metaclass."""
    for base in type.__getattribute__(kind, "__mro__"):
        members = type.__getattribute__(base, "__dict__")
        if name in members:
            return members[name]
    return None


def _dict(value: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found


_LEAVES = frozenset((str, int, float, bool, bytes, type(None), complex))
