"""Lets what comes to an event loop come between the same two steps of the program as in the record.

`agentdbg.recording.loop_steps` tells what steps are, and noted how many there had been at each outcome and arrival.
Ahead of each further step it is looked whether something comes first. How many steps there were is counted from the
last call or arrival that the record and the replay have both: where the two differ for once (a client library that is
not run in a replay had a task of its own), the count is right again from there on. What never gets to its count comes
when the loop has nothing left to run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agentdbg.recording import loop_steps
from agentdbg.replay.row import Row


class Bringing(Protocol):
    """Who has what comes to loops."""

    def is_taken(self, place: int) -> bool:
        """Whether what has a place is in the replay's record."""

    def bring(self, loop: Any, place: int) -> bool:
        """Let what has a place come now. Whether it has."""


@dataclass(slots=True)
class _Loop:
    """One loop of the replay.

    Attributes:
        which: The loop that it was in the record.
        steps: How often it has gone on with the program.
        since: What ``steps`` was at the last thing that record and replay have both.
        noted: What the record has there.
        next: Number of the next thing that comes to it.
        busy: Something is coming: it does not come twice.
    """

    which: tuple[str, int] | None = None
    steps: int = 0
    since: int = 0
    noted: int = 0
    next: int = 0
    busy: bool = False


class LoopOrder:
    """What is asked for a loop is asked in its thread."""

    def __init__(self, row: Row, bringing: Bringing) -> None:
        self._row = row
        self._bringing = bringing
        self._coming: dict[tuple[str, int], list[int]] = {}
        for place in sorted(row.coming):
            self._coming.setdefault(row.steps[place].loop, []).append(place)
        self._loops: dict[int, _Loop] = {}

    def install(self) -> None:
        """From now on steps of loops are counted here."""
        if self._coming:
            loop_steps.state.before = self.before_step
            loop_steps.count_steps()

    def counts(self, place: float) -> bool:
        """Whether it is known after how many steps something comes."""
        return place in self._row.coming

    def met(self, loop: Any, place: int) -> None:
        """The program has done, in this loop, what has a place."""
        steps = self._row.steps.get(place)
        if steps is None or loop is None:
            return
        here = self._loops.setdefault(id(loop), _Loop())
        if here.which != steps.loop:
            here.which, here.next = steps.loop, 0
        here.since, here.noted = here.steps, steps.number

    def is_due(self, loop: Any, place: int) -> bool:
        """Whether the loop has gone on with the program as often as when something came."""
        here = self._loops.get(id(loop))
        steps = self._row.steps.get(place)
        if here is None or steps is None or here.which not in (None, steps.loop):
            return False
        return here.steps - here.since >= steps.number - here.noted

    def before_step(self, loop: Any) -> None:
        """A loop is about to go on with the program: what comes first comes now."""
        here = self._loops.setdefault(id(loop), _Loop())
        if not here.busy and here.which is not None:
            here.busy = True
            try:
                while (place := self._next(here)) is not None and self.is_due(loop, place):
                    if not self._bringing.bring(loop, place):
                        break
            finally:
                here.busy = False
        here.steps += 1

    def _next(self, here: _Loop) -> int | None:
        """What comes to a loop next."""
        coming = self._coming.get(here.which, []) if here.which is not None else []
        while here.next < len(coming) and self._bringing.is_taken(coming[here.next]):
            here.next += 1
        return coming[here.next] if here.next < len(coming) else None


def release(loop: Any, future: Any) -> None:
    """Let whoever waits for a future go on now, ahead of all that the loop has in its queue."""
    from asyncio import Handle

    waiting: list[Handle] = []

    def keep(callback: Callable[..., object], *args: Any, context: Any = None) -> Handle:
        waiting.append(handle := Handle(callback, args, loop, context))
        return handle

    own = vars(loop)
    before = own.pop("call_soon", None)
    own["call_soon"] = keep
    try:
        future.set_result(None)
    finally:
        del own["call_soon"]
        if before is not None:  # the program has replaced it
            own["call_soon"] = before
    for handle in waiting:
        handle._run()
