"""Names of temporary files: noted and given back, so that their paths are in a replay what they were."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agentdbg.recording import pins
from agentdbg.recording.scope import _current

_NAME = re.compile(r"\w{1,64}", re.ASCII)
_PROBES = "_get_default_tempdir"
"""Its names are for files that are gone at once, when the directory is first looked for."""


def install(module: ModuleType) -> None:
    """Pin the names that ``tempfile`` chooses."""
    names = module._RandomNameSequence
    original: Callable[[Any], str] = names.__next__

    def choose(self: Any) -> str:
        if _current.get() is None or sys._getframe(1).f_code.co_name == _PROBES:
            return original(self)
        return str(pins.note("tempfile", 1, lambda: original(self), _checked, pins.same))

    names.__next__ = choose


def _checked(name: object) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise ValueError("no name of a temporary file")
