"""Counts how often an event loop goes on with a run's program: by that a replay tells when something came from outside.

What a program in an event loop does is settled by the order in which the loop runs its callbacks. All but some are in
that order because of what ran before. What comes from outside (the outcome of a call, what a thread gives the loop)
comes between two of them. The record says how many of the program's callbacks had run by then; a replay lets it come
after as many. What runs inside a call does not count, as a replay serves calls whole, nor does what the system tells
the loop. Other loops than those of ``asyncio`` cannot be counted.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from agentdbg.recording.handoffs import fault
from agentdbg.recording.hooks import on_standard_import
from agentdbg.recording.scope import variable

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_SYSTEM: tuple[object, ...] = tuple(
    f"asyncio.{name}"
    for name in ("base_events", "base_subprocess", "proactor_events", "selector_events", "sslproto", "unix_events",
                 "windows_events")
)  # fmt: skip
"""Modules whose objects tell a loop what the system did."""


class FromOutside:
    """A callback that does not count: what another thread gave a loop."""

    __slots__ = ()


class _State:
    """Attributes:
    patched: Steps are counted from now on.
    before: In a replay, called with the loop ahead of each step.
    """

    def __init__(self) -> None:
        self.patched = False
        self.before: Callable[[Any], None] | None = None


state = _State()


def count_steps() -> None:
    """Count from now on."""
    if not state.patched:
        state.patched = True
        on_standard_import("asyncio.events", _patch)


def steps(run: Any, loop: AbstractEventLoop) -> int | None:
    """How often a loop has gone on with a run; ``None`` for a loop that cannot be counted."""
    base: Any = sys.modules.get("asyncio.base_events")
    if base is None or not isinstance(loop, base.BaseEventLoop):
        return None
    found: int = run.loop_steps.get(id(loop), 0)
    return found


def _patch(module: ModuleType) -> None:
    handle, at = module.Handle, variable()
    original = handle._run

    @functools.wraps(original)
    def run(self: Any) -> Any:
        here = None
        try:
            here = self._context.get(at)
            if here is not None and not (here.inside_tool or here.inside_http) and _counts(self._callback):
                if state.before is not None:
                    state.before(self._loop)
                _count(here.run, id(self._loop))
        except Exception as error:
            fault(here, error)
        return original(self)

    handle._run = run


def _count(root: Any, loop: int) -> None:
    try:
        counted = root.loop_steps
    except AttributeError:  # what may become a run
        counted = getattr(getattr(root, "begun", None), "loop_steps", None)
    if counted is not None:
        counted[loop] = counted.get(loop, 0) + 1


def _counts(callback: object) -> bool:
    """Whether it is the program's. Objects of the program's own are not asked for anything."""
    kind = type(callback)
    if FromOutside in kind.__mro__:
        return False
    if kind is not MethodType:
        return True
    owner: type = type(callback.__self__)  # type: ignore[attr-defined]  # of a method
    return not any(vars(each).get("__module__") in _SYSTEM for each in owner.__mro__)
