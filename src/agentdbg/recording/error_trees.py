"""Exceptions inside of exceptions, written down: what an error was made of is often another error.

``requests.ConnectionError(MaxRetryError(…))``, ``ClientConnectorError(key, OSError(…))``: the inner one becomes a
mapping with one member, from which a replay makes it again, of a class that it has loaded already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentdbg.recording import revive

NESTED = "agentdbg.error"
_DEPTH = 6
_PLAIN = (str, bytes, int, float, bool, type(None))


def frozen(value: object, depth: int = _DEPTH) -> object:
    """A value with the exceptions in it taken apart; everything else stays as it is."""
    if isinstance(value, BaseException):
        return {NESTED: _described(value, depth)}
    return revive.freeze(value)


def thawed(value: object, make: Callable[[Mapping[str, object]], BaseException]) -> object:
    """The value that was frozen; ``make`` makes an exception out of its description."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(NESTED), dict):
        return make(value[NESTED])
    try:
        return revive.thaw(value)
    except revive.CannotRevive:  # the exception is made all the same
        return value


def _described(error: BaseException, depth: int) -> dict[str, object]:
    kind = type(error)
    found: dict[str, object] = {"type": str(kind.__qualname__), "module": str(kind.__module__)}
    found["args"] = [_part(value, depth - 1) for value in error.args]
    state = {name: _part(value, depth - 1) for name, value in vars(error).items() if _keeps(value)}
    for name in ("errno", "strerror") if isinstance(error, OSError) else ():
        value = getattr(error, name)
        if isinstance(value, _PLAIN) and value is not None:
            state[name] = value
    if state:
        found["state"] = state
    return found


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
    return f"<{type(value).__qualname__}>"
