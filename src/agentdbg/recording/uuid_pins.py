"""The functions of ``uuid`` that make one, or name the machine: noted and given back, whoever holds them."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from agentdbg.recording import pins

FUNCTIONS = ("uuid1", "uuid4", "uuid6", "uuid7", "getnode")


def install(module: ModuleType) -> None:
    """Pin the functions that this version of ``uuid`` has: each stays the object it is, with other code in it."""
    for name in FUNCTIONS:
        function = getattr(module, name, None)
        if isinstance(function, FunctionType):
            _pin(name, function, vars(module))


def _pin(name: str, function: FunctionType, members: dict[str, Any]) -> None:
    code = function.__code__
    original = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    given = code.co_varnames[: code.co_argcount]
    if code.co_posonlyargcount or code.co_kwonlyargcount or code.co_flags & (_REST | _KEYWORDS):
        pins.problems.append(f"uuid.{name} is not pinned: it takes its arguments in another way than known")
        return
    hook = f"__agentdbg_{name}__"
    members[hook] = _minted(name, original)
    words = ", ".join(given)
    source = f"def {name}({words}):\n    return {hook}({words})\n"
    namespace: dict[str, Any] = {}
    exec(compile(source, code.co_filename, "exec"), members, namespace)  # every holder of the function sees it
    replaced: CodeType = namespace[name].__code__
    function.__code__ = replaced.replace(co_firstlineno=code.co_firstlineno)


_REST, _KEYWORDS = 4, 8
"""Flags of code that takes ``*args`` and ``**kwargs``."""


def _minted(name: str, original: Callable[..., uuid.UUID | int]) -> Callable[..., uuid.UUID | int]:
    def thaw(frozen: object) -> uuid.UUID | int:
        return int(str(frozen)) if name == "getnode" else uuid.UUID(str(frozen))

    def mint(*args: Any) -> uuid.UUID | int:
        if name == "getnode" and sys._getframe(2).f_globals is vars(uuid):
            return original()  # a part of what is noted
        return cast("uuid.UUID | int", pins.note(name, 2, lambda: original(*args), thaw, str))

    return mint
