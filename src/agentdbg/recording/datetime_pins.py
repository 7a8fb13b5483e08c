"""``datetime.now`` and its like: the methods of a class that is made in C, noted and given back as clocks are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from types import BuiltinMethodType, ModuleType
from typing import Any, cast

from agentdbg.recording import pins

_METHODS = ("now", "utcnow")


def install(module: ModuleType) -> None:
    """Pin the methods of ``datetime.datetime``; what cannot be pinned is added to ``pins.problems``."""
    try:
        import ctypes
        import gc

        members = next(item for item in gc.get_referents(dt.datetime.__dict__) if isinstance(item, dict))
        for name in _METHODS:
            members[name] = classmethod(_now(name, members[name]))
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))
    except (ImportError, StopIteration, AttributeError, KeyError) as problem:
        pins.problems.append(f"{module.__name__}.now is not pinned: {problem}")
    pins.rebind(_pinned)


def _pinned(value: object) -> Callable[..., Any] | None:
    """``now = datetime.now``: each look-up makes another object, so that it is known by what it is bound to."""
    if type(value) is not BuiltinMethodType or value.__self__ is not dt.datetime or value.__name__ not in _METHODS:
        return None
    found: Callable[..., Any] = getattr(dt.datetime, value.__name__)
    return found


def _now(name: str, original: Any) -> Callable[..., dt.datetime]:
    def read(cls: type[dt.datetime], tz: dt.tzinfo | None) -> dt.datetime:
        def make() -> dt.datetime:
            if pins.drawer is None:
                return cast(dt.datetime, original.__get__(None, cls)(*(() if tz is None else (tz,))))
            zone = dt.UTC if name == "utcnow" else tz
            moment = cls.fromtimestamp(float(pins.drawer.passed("time")), zone)
            return moment.replace(tzinfo=None) if name == "utcnow" else moment

        def thaw(frozen: object) -> dt.datetime:
            text, _, fold = str(frozen).partition("/")
            moment = cls.fromisoformat(text)
            return moment.astimezone(tz) if tz is not None else moment.replace(fold=int(fold or 0))

        return cast(dt.datetime, pins.note(f"datetime.{name}", 2, make, thaw, _freeze_moment))

    def now(cls: type[dt.datetime], tz: dt.tzinfo | None = None) -> dt.datetime:
        return read(cls, tz)

    def utcnow(cls: type[dt.datetime]) -> dt.datetime:
        return read(cls, None)

    chosen: Callable[..., dt.datetime] = now if name == "now" else utcnow
    chosen.__module__, chosen.__qualname__, chosen.__doc__ = "datetime", f"datetime.{name}", original.__doc__
    return chosen


def _freeze_moment(moment: dt.datetime) -> str:
    if moment.tzinfo is not None:
        return moment.astimezone(dt.UTC).isoformat()
    return f"{moment.isoformat()}/1" if moment.fold else moment.isoformat()
