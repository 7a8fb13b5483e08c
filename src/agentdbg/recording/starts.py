"""Starts of further Python processes, as a record tells them and a replay finds them again.

Light: it is loaded before the program that is recorded.
"""

from __future__ import annotations

from _thread import _local

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentdbg.recording.scope import Scope

COMMAND, FORK, PROCESS, WORKER = "command", "fork", "process", "worker"
"""How a process is started: by a command line, by ``os.fork``, as a ``multiprocessing.Process``, by a pool of these."""
_POOLS = ("multiprocessing.pool", "concurrent.futures.process")


class Start:
    """One start.

    Attributes:
        how: One of the constants above.
        what: What is started, without this machine's directories and without secrets.
        lane: Lane that the process is to be in; empty where that is not settled here.
        inside: In a call whose outcome a replay serves, so that it is not started again.
        noted: It is in the record, or will be.
    """

    __slots__ = ("how", "inside", "lane", "noted", "what")

    def __init__(self, how: str, what: str, lane: str = "", *, inside: bool = False) -> None:
        self.how = how
        self.what = what
        self.lane = lane
        self.inside = inside
        self.noted = False

    def members(self) -> dict[str, object]:
        """As in the ``process`` event."""
        return {name: getattr(self, name) for name in ("how", "what", "inside") if getattr(self, name)}


class _Now(_local):
    """Of each thread.

    Attributes:
        start: The start that the thread is making, until the process is there.
        behind: The scope of who makes a pool, whose workers stand in no scope.
    """

    start: Start | None = None
    behind: Scope | None = None


now = _Now()
ask: Callable[[Start], None] | None = None
"""In a replay: raises where the record has no such start."""
failed: Callable[[], None] | None = None
"""In a replay: hears that a start that was asked for came to nothing."""
program = ""
"""Name of the launched program where that started this process ahead of its run: a call begins the run of that then."""
marker = ""
"""Variable by which a process knows that it is one of ours; empty where none is."""


class starting:  # used as a function
    """Announce a start, and make it within this block.

    Raises:
        BaseException: What a replay raises in its place.
    """

    __slots__ = ("_outer", "_start")

    def __init__(self, start: Start | None, scope: Scope | None) -> None:
        self._start = start
        if start is None:
            return
        if ask is not None and now.start is None:
            ask(start)
        if scope is not None and now.start is None:
            run = scope.run
            lane = {"lane": scope.lane.path, "parent": scope.parent, "child": start.lane}
            members = {**start.members(), **lane}
            run.recorder.guard(lambda: run.event(scope._replace(inside_tool=True), "process", members), "")
            start.noted = True

    def __enter__(self) -> None:
        self._outer = now.start
        if self._start is not None and self._outer is None:
            now.start = self._start

    def __exit__(self, kind: object, *_: object) -> None:
        if self._start is not None and self._outer is None:
            now.start = None
            if kind is not None and failed is not None:
                failed()


def of_process(process: Any) -> Start:
    """The start of a ``multiprocessing.Process``."""
    target = getattr(process, "_target", None)
    if getattr(target, "__module__", "") in _POOLS:
        return Start(WORKER, "")
    found = type(process) if target is None else getattr(target, "func", target)
    method = str(getattr(process, "_start_method", None) or "default")
    return Start(PROCESS, f"{method} {getattr(found, '__qualname__', None) or type(found).__qualname__}")
