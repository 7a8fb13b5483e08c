"""Answers an exact replay's calls from a cassette: default deny, in recorded completion order, latched when it diverges."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from agentdbg.model.canonical import loads
from agentdbg.model.records import Json, StepStatus
from agentdbg.recording.calls import Call, ReplayStop, Served
from agentdbg.replay.cassette import Cassette, RecordedCall

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

STALL_S = 2.0
"""How long an outcome waits for its turn while nothing else happens; then it is released and the order is reported as not kept."""


class Diverged(ReplayStop):
    """The program asks for something that the record does not have."""


class RecordEnds(ReplayStop):
    """The record stops here: the recorded process died inside this call."""


class ExactAnswers:
    """Thread-safe. ``tell`` gets one message for each thing that the parent has to know."""

    def __init__(self, cassette: Cassette, tell: Callable[[dict[str, object]], None]) -> None:
        self._cassette = cassette
        self._tell = tell
        self._changed = threading.Condition(threading.RLock())
        self._by_print: dict[str, list[RecordedCall]] = defaultdict(list)
        for call in cassette.calls:
            self._by_print[call.fingerprint].append(call)
        self._order = [False] * sum(1 + (call.ended is not None) for call in cassette.calls)
        self._cursor = 0
        self._progress = _real_monotonic()
        self._matched: dict[str, RecordedCall] = {}
        self._sleepers: list[tuple[int, AbstractEventLoop, Future[None]]] = []
        self._stop: ReplayStop | None = None
        self._order_lost = False

    # -- the Answerer protocol --------------------------------------------------------------------

    def answer(self, call: Call) -> Served | None:
        """Serve a call from a thread."""
        recorded = self._match(call)
        if not recorded.stream:
            self._wait(recorded)
        return self._served(recorded)

    async def answer_async(self, call: Call) -> Served | None:
        """Serve a call from a task; a call that was cancelled while recording waits to be cancelled again."""
        recorded = self._match(call)
        if recorded.status == StepStatus.CANCELLED.value:
            await self._forever(recorded)
        if not recorded.stream:
            await self._wait_async(recorded)
        return self._served(recorded)

    def turn(self, served: Served) -> None:
        """Hold back the end of a served stream until its turn."""
        recorded = self._recorded(served.step)
        if recorded is not None:
            self._wait(recorded)

    async def turn_async(self, served: Served) -> None:
        """The same, suspending the task."""
        recorded = self._recorded(served.step)
        if recorded is not None:
            await self._wait_async(recorded)

    def finished(self, call: Call, status: StepStatus) -> None:
        """An outcome is in the replay's record: the next one in order may be released."""
        recorded = self._matched.get(call.step)
        if recorded is not None and recorded.ended is not None:
            self._mark(recorded.ended)

    def stopped(self) -> ReplayStop | None:
        """Why the replay is over, if it is."""
        return self._stop

    def diverge(self, call: Call, reason: str) -> ReplayStop:
        """Latch a divergence and tell the parent."""
        stop = Diverged(f"{call.kind.value} {call.name}: {reason}")
        return self.latch(stop, {"event": "diverged", "step": call.step, "reason": reason, "name": call.name})

    # -- for the child ----------------------------------------------------------------------------

    def latch(self, stop: ReplayStop, message: dict[str, object]) -> ReplayStop:
        """End the replay once: every later seam raises again; returns what to raise."""
        with self._changed:
            if self._stop is not None:
                return self._stop
            self._stop = stop
            self._changed.notify_all()
            sleepers, self._sleepers = self._sleepers, []
        for _, loop, future in sleepers:
            _wake(loop, future)
        self._tell(message)
        return stop

    def report(self) -> dict[str, object]:
        """Counts for the outcome."""
        served = len(self._matched)
        return {"served": served, "unconsumed": len(self._cassette.calls) - served, "order_lost": self._order_lost}

    # -- inside -----------------------------------------------------------------------------------

    def _match(self, call: Call) -> RecordedCall:
        with self._changed:
            if self._stop is not None:
                raise self._stop
            waiting = self._by_print.get(call.fingerprint)
            if not waiting:
                raise self.diverge(call, "not in the record" if waiting is None else "asked more often than recorded")
            recorded = next((item for item in waiting if item.lane == call.lane), waiting[0])
            if recorded.ended is None:
                if self._cassette.ends_early:
                    stop = RecordEnds(f"the record ends inside {call.kind.value} {call.name}")
                    raise self.latch(stop, {"event": "record_ends", "step": call.step, "recorded": recorded.step})
                raise self.diverge(call, "the record has no outcome for it")
            waiting.remove(recorded)
            self._matched[call.step] = recorded
            self._mark(recorded.asked)
            return recorded

    def _served(self, recorded: RecordedCall) -> Served:
        bodies = self._cassette.bodies
        error: dict[str, Json] | None = None
        if recorded.error is not None:
            error = dict(recorded.error)
            key = error.pop("args_body", None)
            if isinstance(key, str) and key in bodies:
                error["args"] = cast(Json, loads(bodies[key]))
        return Served(
            step=recorded.step,
            status=StepStatus(recorded.status),
            result=bodies[recorded.result] if recorded.result is not None else None,
            error=error,
            attrs=recorded.attrs,
            stream=tuple(bodies[key] for key in recorded.stream),
        )

    def _recorded(self, step: str) -> RecordedCall | None:
        return next((call for call in self._matched.values() if call.step == step), None)

    def _mark(self, place: int) -> None:
        with self._changed:
            self._order[place] = True
            while self._cursor < len(self._order) and self._order[self._cursor]:
                self._cursor += 1
            self._progress = _real_monotonic()
            self._changed.notify_all()
            ready = [sleeper for sleeper in self._sleepers if sleeper[0] <= self._cursor]
            self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._cursor]
        for _, loop, future in ready:
            _wake(loop, future)

    def _is_turn(self, recorded: RecordedCall) -> bool:
        if self._stop is not None:
            raise self._stop
        if recorded.ended is None or self._cursor >= recorded.ended:
            return True
        if _real_monotonic() - self._progress >= STALL_S:
            self._order_lost = True
            return True
        return False

    def _wait(self, recorded: RecordedCall) -> None:
        with self._changed:
            while not self._is_turn(recorded):
                self._changed.wait(STALL_S / 4)

    async def _wait_async(self, recorded: RecordedCall) -> None:
        import asyncio

        while True:
            with self._changed:
                if self._is_turn(recorded):
                    return
                loop = asyncio.get_running_loop()
                future: Future[None] = loop.create_future()
                self._sleepers.append((recorded.ended or 0, loop, future))
            timer = loop.call_later(STALL_S / 4, _settle, future)
            try:
                await future
            finally:
                timer.cancel()

    async def _forever(self, recorded: RecordedCall) -> None:
        import asyncio

        while self._stop is None:
            await asyncio.sleep(0.05)
        raise self._stop


def _settle(future: Any) -> None:
    if not future.done():
        future.set_result(None)


def _wake(loop: AbstractEventLoop, future: Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_settle, future)
    except RuntimeError:
        pass  # the loop is closed: nobody waits any more


class RecordedDraws:
    """Gives recorded clock, uuid and random values back, by source and site, the same lane's first."""

    def __init__(self, draws: tuple[tuple[str, str, str, Json], ...], started_at: float) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], dict[str, deque[Json]]] = defaultdict(lambda: defaultdict(deque))
        for lane, source, site, value in draws:
            self._waiting[source, site][lane].append(value)
        self._shown: dict[str, tuple[float, float]] = {"time": (started_at, _real_monotonic())}
        self._slept = 0.0
        self.unpinned = 0

    def draw(self, lane: str, source: str, site: str) -> tuple[bool, object]:
        """The next recorded value for that source and site."""
        with self._lock:
            lanes = self._waiting.get((source, site))
            queue = None
            if lanes:
                queue = lanes.get(lane) or next((found for found in lanes.values() if found), None)
            if not queue:
                self.unpinned += 1
                return False, None
            value = queue.popleft()
            if isinstance(value, int | float) and source in _CLOCKS:
                self._shown[_CLOCKS[source][0]] = (value * _CLOCKS[source][1], _real_monotonic())
            return True, value

    def sleep(self, seconds: float) -> None:
        """A skipped sleep moves every clock on."""
        with self._lock:
            self._slept += max(0.0, seconds)

    def passed(self, source: str) -> float | int:
        """What a clock shows where nothing was recorded: the last recorded reading, moved on by what has passed since."""
        name, unit = _CLOCKS.get(source, ("monotonic", 1.0))
        base, since = self._shown.get(name, (_ORIGINALS[name](), _real_monotonic()))
        seconds = base + (_real_monotonic() - since) + self._slept
        return int(seconds / unit) if source.endswith("_ns") else seconds


def _real_monotonic() -> float:
    return cast(float, _ORIGINALS["monotonic"]())


_ORIGINALS: Mapping[str, Callable[[], Any]] = {
    "time": time.time,
    "monotonic": time.monotonic,
    "perf_counter": time.perf_counter,
}
_CLOCKS: Mapping[str, tuple[str, float]] = {
    "time": ("time", 1.0),
    "time_ns": ("time", 1e-9),
    "monotonic": ("monotonic", 1.0),
    "monotonic_ns": ("monotonic", 1e-9),
    "perf_counter": ("perf_counter", 1.0),
    "perf_counter_ns": ("perf_counter", 1e-9),
}
