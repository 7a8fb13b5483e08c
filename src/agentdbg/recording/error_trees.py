"""Exceptions inside of exceptions, written down: what an error was made of is often another error.

``requests.ConnectionError(MaxRetryError(…))``, ``ClientConnectorError(key, OSError(…))``, an ``ExceptionGroup``, and
what an error was raised from: the inner one becomes a mapping with one member, from which a replay makes it again, of a
class that it has loaded already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MemberDescriptorType

from agentdbg.recording import revive

NESTED = "agentdbg.error"
CAUSE, CONTEXT, SUPPRESSES = "__cause__", "__context__", "__suppress_context__"
"""Members of an error's state that say what it was raised from."""
_SET_APART = ("name", "path", "name_from")
"""What the constructors of built-in exceptions do not find in ``args``."""
_DEPTH = 6
_PLAIN = (str, bytes, int, float, bool, type(None))


def frozen(value: object, depth: int = _DEPTH) -> object:
    """A value with the exceptions in it taken apart; everything else stays as it is."""
    if isinstance(value, BaseException):
        return {NESTED: _described(value, depth)}
    if type(value) in (list, tuple) and any(isinstance(each, BaseException) for each in value):  # type: ignore[attr-defined]
        return type(value)(frozen(each, depth) for each in value)  # type: ignore[call-arg,attr-defined]
    return revive.freeze(value)


def thawed(value: object, make: Callable[[Mapping[str, object]], BaseException]) -> object:
    """The value that was frozen; ``make`` makes an exception out of its description."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(NESTED), dict):
        return make(value[NESTED])
    if type(value) in (list, tuple) and any(isinstance(each, dict) and NESTED in each for each in value):  # type: ignore[attr-defined]
        return type(value)(thawed(each, make) for each in value)  # type: ignore[call-arg,attr-defined]
    try:
        return revive.thaw(value)
    except revive.CannotRevive:  # the exception is made all the same
        return value


def _described(error: BaseException, depth: int) -> dict[str, object]:
    kind = type(error)
    found: dict[str, object] = {"type": str(kind.__qualname__), "module": str(kind.__module__)}
    found["args"] = [_part(value, depth - 1) for value in error.args]
    members = {**vars(error), **set_apart(error)}
    state = {name: _part(value, depth - 1) for name, value in members.items() if _keeps(value)}
    for name in ("errno", "strerror") if isinstance(error, OSError) else ():
        value = getattr(error, name)
        if isinstance(value, _PLAIN) and value is not None:
            state[name] = value
    state |= origins(error, depth - 1)
    if state:
        found["state"] = state
    return found


def origins(error: BaseException, depth: int = _DEPTH) -> dict[str, object]:
    """What an error was raised from, or while that was handled, as members of its state."""
    found: dict[str, object] = {}
    cause, context = error.__cause__, error.__context__
    if depth <= 0:
        return found
    if cause is not None:
        found[CAUSE] = frozen(cause, depth)
    if context is not None and context is not cause:
        found[CONTEXT] = frozen(context, depth)
    if cause is None and error.__suppress_context__:
        found[SUPPRESSES] = True
    return found


def set_apart(error: BaseException) -> dict[str, object]:
    """Members that an exception keeps in slots, and not in what it was made of."""
    kind = type(error)
    known = (BaseException, BaseExceptionGroup, object)
    own = [name for each in kind.__mro__ if each not in known for name in vars(each)]
    names = _SET_APART if kind.__module__ == "builtins" else own
    kept = {name: getattr(error, name, None) for name in names if is_slot(kind, name)}
    return {name: value for name, value in kept.items() if value is not None}


def is_slot(kind: type, name: str) -> bool:
    """Whether a member of a class is one that is read and set without running code of anybody's."""
    found = next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)
    return type(found) is MemberDescriptorType


def _keeps(value: object) -> bool:
    return isinstance(value, (*_PLAIN, BaseException))


def _part(value: object, depth: int) -> object:
    """An argument of an inner exception: what is neither plain nor an exception is named only."""
    if isinstance(value, BaseException):
        if depth <= 0:
            return type(value).__qualname__
        return frozen(value, depth)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple) and any(isinstance(each, BaseException) for each in value):
        return [_part(each, depth) for each in value]  # of a group
    return f"<{type(value).__qualname__}>"
