"""Replacing functions and methods of other people's packages: once, whatever kind of method, under every name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agentdbg.recording.hooks import problems
from agentdbg.recording.process import recorder

MARK = "__agentdbg__"
Make = Callable[[Callable[..., Any]], Callable[..., Any]]


def replace_method(holder: Any, name: str, make: Make) -> bool:
    """Wrap a method of a class, a class method or a static one, or a function of a module. Idempotent.

    Args:
        holder: Class or module.
        name: Name of the function; one that is only inherited is wrapped in ``holder`` alone.
        make: Makes the replacement of the plain function.

    Returns:
        Whether there is such a function.
    """
    raw = vars(holder).get(name, getattr(holder, name, None))
    if raw is None:
        return False
    inner = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
    if hasattr(inner, MARK):
        return True
    made = functools.wraps(inner)(make(inner))
    setattr(made, MARK, True)
    setattr(holder, name, type(raw)(made) if isinstance(raw, classmethod | staticmethod) else made)
    return True


def replace_function(module: ModuleType, name: str, package: str, make: Make) -> bool:
    """Wrap a module's function, also where modules of ``package`` (of all, if empty) have imported it by its name."""
    original = vars(module).get(name)
    if original is None:
        return False
    if hasattr(original, MARK):
        return True
    replace_method(module, name, make)
    made = vars(module)[name]
    for other, holder in list(sys.modules.items()):
        if issubclass(type(holder), ModuleType) and (not package or f"{other}.".startswith(f"{package}.")):
            members: dict[str, Any] = ModuleType.__getattribute__(holder, "__dict__")  # modules that load lazily
            if members.get(name) is original:
                members[name] = made
    return True


def missing(label: str, what: str) -> None:
    """Say, for ``agentdbg doctor``, that a version lacks what is to be patched."""
    problems.append(f"{label} is not covered: this version has no {what}")


def guarded(function: Callable[[], object]) -> None:
    """Run code of an adapter's own: what goes wrong in it is counted, and does not reach the program."""
    found = recorder()
    if found is not None:
        found.guard(function, None)
