"""Notes the hashes of tasks and futures, so that a replay gives them the same: the order of a set goes by them.

The hash of a task is where it lies in memory, another place in every process. ``done`` of ``asyncio.wait``, the tasks
of a group when it is cancelled, ``asyncio.all_tasks`` and sets that the program makes itself are gone through in an
order that follows from these numbers and from what came into the set and went. Each is noted like a value that the
program drew (`agentdbg.recording.pins`), under the lane in which the task or future was made.

A replay does not change the sets: tasks and futures have the hash that they had (`agentdbg.replay.hashes`).
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Hashable
from types import FrameType, ModuleType
from typing import Any, Protocol, TypeVar

from agentdbg.model.records import HASH_DRAW
from agentdbg.recording import pins
from agentdbg.recording import scope as scopes
from agentdbg.recording.firings import is_of_program
from agentdbg.recording.handoffs import mark_of
from agentdbg.recording.scope import Scope

T = TypeVar("T")
ROOT = "root"
"""Site of the task in which the root call runs."""
CONTEXT = "context"
"""Site of tasks that were given a context of their own: they have no lane."""
FUTURE = "future"
GATHERED = "gathered"
SCOPE = "scope"


class Giver(Protocol):
    """Gives recorded hashes back in a replay."""

    def making(self, lane: str, site: str, make: Callable[[], T]) -> T:
        """Make a task or future, with the hash that the record has."""

    def future(self, lane: str, site: str, loop: Any, make: Callable[[], Any]) -> Any:
        """Make a future for a loop, with the hash that the record has."""

    def give(self, lane: str, site: str, made: Any) -> None:
        """Give the hash that the record has to an object that can have one."""


giver: Giver | None = None
MOST = 100_000
"""Hashes of a run that are noted."""
_left: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()


def made(here: Scope, site: str, make: Callable[[], T]) -> T:
    """Make a task or future, and note its hash as that of the lane's ``site``; in a replay it is as noted."""
    if _is_elsewhere(here):
        return make()
    found = make() if giver is None else giver.making(here.lane.path, site, make)
    note(here, site, found)
    return found


def known(here: Scope, site: str, found: Any) -> None:
    """The same of an object that has been made, and whose hash nobody has asked for."""
    if _is_elsewhere(here):
        return
    if giver is not None:
        giver.give(here.lane.path, site, found)
    note(here, site, found)


def note(here: Scope, site: str, found: object) -> None:
    """Note the hash of an object. Never raises."""
    if not here.run.draws_cut:
        here.run.recorder.guard(lambda: _note(here, site, found), None)


def _note(here: Scope, site: str, found: object) -> None:
    left = _left.get(here.run, MOST)
    if left and isinstance(found, Hashable):
        _left[here.run] = left - 1
        pins.keep(here, HASH_DRAW, site, hash(found))


def note_root(here: Scope) -> None:
    """A run begins here: note the task in which it does, which was made before."""
    tasks: Any = sys.modules.get("asyncio.tasks")
    events: Any = sys.modules.get("asyncio.events")
    if tasks is None or events is None or events._get_running_loop() is None:
        return
    if (task := tasks.current_task()) is not None:
        note(here, ROOT, task)


def _is_elsewhere(here: Scope) -> bool:
    """Whether it is in a call whose outcome a replay serves as a whole."""
    return here.inside_tool or here.inside_http


def patch_futures(module: ModuleType) -> None:
    """Futures that a loop makes for the program's own code, and for what asyncio gives it."""
    base = module.BaseEventLoop
    original = base.create_future

    @functools.wraps(original)
    def create_future(self: Any) -> Any:
        here = scopes.here()
        site = None if here is None else _site(sys._getframe(1))
        if here is None or site is None or _is_elsewhere(here):
            return original(self)
        found = original(self) if giver is None else giver.future(here.lane.path, site, self, lambda: original(self))
        note(here, site, found)
        return found

    base.create_future = create_future


def _site(frame: FrameType) -> str | None:
    """For whom a future is made; ``None`` for what is never given to the program."""
    name, function = frame.f_globals.get("__name__"), frame.f_code.co_name
    if name == "asyncio.futures" and function == "wrap_future":
        mark = mark_of(frame.f_locals.get("future"))
        return f"{'' if mark is None else mark.name}/{FUTURE}"
    if name == "asyncio.tasks":
        return FUTURE if function == "shield" else None
    return None if type(name) is not str or pins.is_quiet(name) else FUTURE


def patch_gathered(module: ModuleType) -> None:
    """What ``gather`` gives."""
    _noted(module._GatheringFuture, GATHERED)


def patch_scopes(module: ModuleType) -> None:
    """Cancel scopes of anyio: those below another one are cancelled in the order of a set."""
    _noted(module.CancelScope, SCOPE)


def _noted(kind: Any, site: str) -> None:
    original = kind.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if (here := scopes.here()) is not None and is_of_program(sys._getframe(1)):
            known(here, site, self)

    kind.__init__ = init


def first_task(make: Callable[[], T]) -> T:
    """A task is made outside of every run: in a replay the first one is that in which the root call runs."""
    return make() if giver is None else giver.making("0", ROOT, make)
