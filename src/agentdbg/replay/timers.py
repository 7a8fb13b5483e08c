"""Timers of event loops, and sleeps of threads, against the recorded outcomes: what was earlier comes earlier.

Time is that of the record (`agentdbg.replay.clock.ShownTime`): every recorded call says when it was asked and when it
ended. A loop that has nothing left to run, while no thread of the process is at work, does what comes first: its next
timer, or an outcome whose turn has come. The time that is shown goes there in one step; nobody waits.

The moment that a timer is set for may be wrong by the time that the program takes for itself. Two things are known
better. When the program asks for the next call, it is known how long it had worked in the record since the one before:
what it did on the way, timers it set too, is taken to have come at the same part of that way as here; an outcome that
came within that uncertainty comes before the timer. And a timer that would cancel a call whose outcome the record has
comes after that outcome.
"""

from __future__ import annotations

import heapq
import sys
import threading
from collections.abc import Callable
from contextvars import Context
from math import ceil, inf
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from agentdbg.recording.hooks import on_standard_import
from agentdbg.replay.cancelling import cancelled_by
from agentdbg.replay.clock import ShownTime, real_monotonic
from agentdbg.replay.resting import Owning, Rest

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task, TimerHandle
    from types import ModuleType

    from agentdbg.replay.firings import Firings
    from agentdbg.replay.kin import Others

PATIENCE_S = 2.0
"""How long threads at work are waited for; then time goes on without them."""
BUSY_S = 0.1
"""How long a loop may have been busy with other things when a timer was due."""
_LATE_S = 0.0001
STUCK_S = 0.25
"""How long nothing else has to happen beside other threads, before a timer fires of which the record has no firing."""


_Outcome: TypeAlias = "tuple[float, Waiting, float]"


class Waiting(Protocol):
    """Who waits for an outcome."""

    loop: AbstractEventLoop
    task: Task[Any] | None

    def wake(self) -> None:
        """The outcome has come."""


class Timers:
    """Thread-safe, except that what is asked for a loop is asked in its thread.

    Attributes:
        others: The other processes of the replay, where there can be any. While they work, nothing is skipped.
        firings: Where the timers fired, where the record says that.
    """

    others: Others | None = None
    firings: Firings | None = None

    def __init__(self, time: ShownTime, held: Callable[[], bool]) -> None:
        self._time = time
        self._loops: dict[int, _Loop] = {}
        self.starts_anew(held)

    def starts_anew(self, held: Callable[[], bool]) -> None:
        """Nobody waits; in a process that was forked from one where somebody may have."""
        self._held = held
        self._lock = threading.Lock()
        self._owners: dict[int, float] = {}
        self._since = (self._time.now(), real_monotonic())

    def _works(self) -> bool:
        """Whether the program may be waiting for another process, or another one for this."""
        return self.others is not None and self.others.work()

    def install(self) -> None:
        """Let the event loops of ``asyncio`` ask here what comes next, once there are any."""
        on_standard_import("asyncio.base_events", self._patch)

    def _patch(self, module: ModuleType) -> None:
        base: Any = module.BaseEventLoop
        run_once, call_at, close = base._run_once, base.call_at, base.close

        def turn(loop: Any) -> None:
            if (found := self._loops.get(id(loop))) is not None:
                found.call_due(loop)
                if self.firings is not None:
                    self.firings.turns(loop)
            if not loop._ready and not loop._stopping:
                self._idle(loop)
            run_once(loop)

        def set_timer(loop: Any, when: float, callback: Any, *args: Any, context: Any = None) -> TimerHandle:
            found, handle = self._of(loop), call_at(loop, when, callback, *args, context=context)
            if handle._when < inf:  # else it is held
                found.fresh.append((handle, self._time.now(), real_monotonic()))
            return cast("TimerHandle", handle)

        def close_it(loop: Any) -> None:
            self._loops.pop(id(loop), None)
            close(loop)

        base._run_once, base.call_at, base.close = turn, set_timer, close_it

    def knows(self, loop: AbstractEventLoop) -> bool:
        """Whether a loop asks here."""
        return id(loop) in self._loops or self._asks(loop)

    def _asks(self, loop: AbstractEventLoop) -> bool:
        events: Any = sys.modules.get("asyncio.base_events")
        base = None if events is None else events.BaseEventLoop
        return base is not None and isinstance(loop, base) and type(loop)._run_once is base._run_once

    def _of(self, loop: AbstractEventLoop) -> _Loop:
        return self._loops.setdefault(id(loop), _Loop())

    # -- what the record says ---------------------------------------------------------------------

    def begins(self, after: float) -> None:
        """The recorded run begins; the first thing comes at ``after``."""
        self._time.until(after)
        self._since = (self._time.now(), real_monotonic())

    def happened(self, moment: float, after: float, loop: AbstractEventLoop | None) -> None:
        """All that the record has up to a moment is in the replay's record; the next thing comes at ``after``."""
        if loop is not None and (found := self._loops.get(id(loop))) is not None:
            found.set_right(loop, self._since, moment)
        self._time.to(moment)
        self._time.until(after)
        self._since = (self._time.now(), real_monotonic())

    def comes(self, waiting: Waiting, moment: float, *, cancels: bool) -> None:
        """An outcome's turn has come: it is given out once nothing is left to do before its moment.

        Args:
            waiting: Who waits for it.
            moment: Of the record.
            cancels: Next a call was cancelled, maybe by a timer that was due and came late, as the loop was busy.
        """
        self._of(waiting.loop).outcomes.append((moment, waiting, BUSY_S if cancels else 0.0))

    def is_coming(self, waiting: Waiting) -> bool:
        """Whether an outcome has been announced and not been given out."""
        found = self._loops.get(id(waiting.loop))
        return found is not None and any(each is waiting for _, each, _ in found.outcomes)

    def later(self, loop: AbstractEventLoop, seconds: float, callback: Callable[[], object]) -> Callable[[], object]:
        """Call in so many real seconds; returns what takes that back."""
        found, due = self._of(loop), (real_monotonic() + seconds, callback)
        found.later.append(due)

        def cancel() -> None:
            if due in found.later:
                found.later.remove(due)

        return cancel

    # -- threads ----------------------------------------------------------------------------------

    def sleep(self, seconds: float) -> None:
        """A sleep of a thread: over when nobody else has anything to do before its end."""
        pause = threading.Condition()
        with pause:
            self.wait_until(self._time.now() + max(0.0, seconds), seconds, pause.wait)

    def wait_until(self, moment: float, longest: float, wait: Callable[[float], object]) -> None:
        """Wait until a moment is the next one; ``wait`` waits so many real seconds and lets others go on."""
        rest = Rest(self._owners)
        with self._owning(moment):
            began = real_monotonic()
            while self._time.now() < moment:
                works = self._works()
                if not self._held() and real_monotonic() - began >= (longest if works else min(longest, PATIENCE_S)):
                    break
                if not works and self._is_first(moment) and rest.looks() and not self._held():
                    break
                wait(rest.slice())
            self._time.to(moment)

    def anyone_before(self, moment: float) -> bool:
        """Whether a loop or thread waits for an earlier moment."""
        me = threading.get_ident()
        with self._lock:
            return any(each < moment for ident, each in self._owners.items() if ident != me)

    def is_waiting(self, ident: int) -> bool:
        """Whether a thread waits for a moment."""
        return ident in self._owners

    def _owning(self, moment: float) -> Owning:
        return Owning(self._owners, self._lock, moment)

    def _is_first(self, moment: float) -> bool:
        return not self.anyone_before(moment)

    # -- loops ------------------------------------------------------------------------------------

    def _idle(self, loop: Any) -> None:
        """Wait until a loop has something to run again."""
        found = self._of(loop)
        found.rests()
        rest, began = Rest(self._owners), real_monotonic()
        try:
            self._wait(loop, found, rest, began)
        finally:
            self._since = (self._time.now(), real_monotonic())

    def _wait(self, loop: Any, found: _Loop, rest: Rest, began: float) -> None:
        while not loop._ready:
            found.call_due(loop)
            if self.firings is not None and (held := self._held_ones(loop, found)) is not None:
                if self._await_firing(loop, self.firings, held[0], rest, began):
                    return
                continue
            timer, outcome = found.next_timer(loop), found.next_outcome()
            if loop._ready or (timer is None and outcome is None and not found.later):
                return
            if events := loop._selector.select(0):
                loop._process_events(events)
                return
            moment = min(inf if timer is None else timer.when(), inf if outcome is None else outcome[0])
            works = self._works()
            with self._owning(moment):
                impatient = real_monotonic() - began >= PATIENCE_S
                now = not self._held() and (impatient or (self._is_first(moment) and rest.looks()))
                if moment < inf and now and not (works and self._comes_first(loop, found, timer, outcome) is timer):
                    self._go(loop, found, timer, outcome)
                    return
                if timer is not None and (outcome is None or works) and self._time.now() >= timer.when():
                    return
                slept = rest.slice()
                if events := loop._selector.select(slept):
                    loop._process_events(events)
                    return
                if (rest.busy or works) and not self._held():
                    self._time.on(slept)  # somebody works, for which the record has no moments

    def _held_ones(self, loop: Any, found: _Loop) -> tuple[Any] | None:
        """The timer whose firing is the next thing in the record, if any; ``None`` when others come first."""
        assert self.firings is not None
        if not self.firings.holds(loop) or found.outcomes:
            return None
        held, timer = self.firings.due(loop), found.next_timer(loop)
        return (held,) if timer is None or (held is not None and held.due <= timer.when()) else None

    def _await_firing(self, loop: Any, firings: Firings, held: Any, rest: Rest, began: float) -> bool:
        """Let a held timer fire when all others rest; whether the loop has something to run."""
        works, moment = self._works(), inf if held is None else held.due
        with self._owning(moment):
            waited = real_monotonic() - began
            now = not self._held() and ((held and waited >= PATIENCE_S) or (self._is_first(moment) and rest.looks()))
            if held is not None and now and (not works or self._time.now() >= moment):
                firings.fire(held)
            elif held is None and now and not works and (rest.alone or waited >= STUCK_S):
                firings.left_over(loop)
            elif events := loop._selector.select(slept := rest.slice()):
                loop._process_events(events)
            elif (rest.busy or works) and not self._held():
                self._time.on(slept)  # somebody works, for which the record has no moments
            return bool(loop._ready)

    @staticmethod
    def _comes_first(loop: Any, found: _Loop, timer: TimerHandle | None, outcome: _Outcome | None) -> object:
        later = timer is None or (outcome is not None and found.latest(timer) + outcome[2] > outcome[0])
        return outcome if outcome is not None and (later or (timer and found.ends(loop, timer))) else timer

    def _go(self, loop: Any, found: _Loop, timer: TimerHandle | None, outcome: _Outcome | None) -> None:
        """Do what comes first."""
        if outcome is not None and self._comes_first(loop, found, timer, outcome) is outcome:
            found.outcomes.remove(outcome)
            self._time.to(outcome[0])
            if timer is not None:
                found.not_before(loop, self._time.now() + _LATE_S)
            loop.call_soon(outcome[1].wake, context=Context())
        elif timer is not None:
            now = self._time.now()
            if (left := timer.when() - now) > 0:
                self._time.to(max(now + ceil(left * 1e3) / 1e3, timer.when()) + _LATE_S)


class _Loop:
    """What is known of one event loop."""

    def __init__(self) -> None:
        self.fresh: list[tuple[TimerHandle, float, float]] = []
        self.unsure: list[tuple[TimerHandle, float]] = []
        self.late: list[tuple[TimerHandle, float]] = []
        self.outcomes: list[_Outcome] = []
        self.later: list[tuple[float, Callable[[], object]]] = []

    def rests(self) -> None:
        """The loop has nothing left to run: timers of which it is not sure when they were set stay so."""
        self.fresh.clear()
        late = [*self.late, *self.unsure]
        self.late = [(each, seconds) for each, seconds in late if each._scheduled]  # type: ignore[attr-defined]
        self.unsure = []

    def latest(self, timer: TimerHandle) -> float:
        """When a timer came at the latest in the record: up to its last call the program had not rested."""
        return timer.when() + next((seconds for each, seconds in self.late if each is timer), 0.0)

    def call_due(self, loop: AbstractEventLoop) -> None:
        """Let the loop call what is due in real time."""
        if not self.later:
            return
        now = real_monotonic()
        for due in [each for each in self.later if each[0] <= now]:
            self.later.remove(due)
            loop.call_soon(due[1], context=Context())

    def next_timer(self, loop: Any) -> TimerHandle | None:
        """The program's next timer."""
        scheduled: list[TimerHandle] = loop._scheduled
        if scheduled and not scheduled[0].cancelled():
            return scheduled[0] if scheduled[0]._when < inf else None  # type: ignore[attr-defined]  # those are held
        free = (each for each in scheduled if not each.cancelled() and each._when < inf)  # type: ignore[attr-defined]
        return min(free, key=lambda each: each.when(), default=None)

    def next_outcome(self) -> _Outcome | None:
        """The outcome that comes first."""
        return min(self.outcomes, key=lambda each: each[0], default=None)

    def set_right(self, loop: Any, since: tuple[float, float], moment: float) -> None:
        """Move the timers that were set since the program last rested to when they were set in the record."""
        began, began_real = since
        self.unsure = [(each, seconds + max(0.0, moment - began)) for each, seconds in self.unsure]
        fresh, self.fresh = self.fresh, []
        way = real_monotonic() - began_real
        if not fresh or way <= 0:
            return
        for handle, seen, real in fresh:
            part = min(1.0, max(0.0, (real - began_real) / way))
            handle._when += began + max(0.0, moment - began) * part - seen  # type: ignore[attr-defined]
            self.unsure.append((handle, max(0.0, moment - began)))
        heapq.heapify(loop._scheduled)

    def not_before(self, loop: Any, moment: float) -> None:
        """No timer of the loop comes before a moment."""
        late = [each for each in loop._scheduled if each._when < moment]
        for handle in late:
            handle._when = moment
        if late:
            heapq.heapify(loop._scheduled)

    def ends(self, loop: AbstractEventLoop, timer: TimerHandle) -> bool:
        """Whether a timer would cancel a call whose outcome is about to come."""
        waiting = {id(each.task) for _, each, _ in self.outcomes if each.task is not None}
        return any(id(each) in waiting for each in cancelled_by(loop, timer))
