"""What a record holds of calls and of hand-offs between threads, as one row of places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import NamedTuple

from agentdbg.model.records import StepStatus
from agentdbg.recording.firings import FIRES
from agentdbg.recording.handoffs import IN_LOOP
from agentdbg.recording.loop_arrivals import ARRIVES
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.placing import HandOff, bursts


class Steps(NamedTuple):
    """How often an event loop had gone on with the program when something came to it.

    Attributes:
        loop: Which loop it was, of which process.
        number: Counted by `agentdbg.recording.loop_steps`.
    """

    loop: tuple[str, int]
    number: int


class Row:
    """Every place's lane, moment and kind.

    Attributes:
        end: The place behind all others.
        moments: When each place came, in seconds on the recording machine's monotonic clock; ``inf`` at the end.
        cancelled: Places of outcomes that are cancellations.
        handed: Places of hand-offs.
        steps: By place, what is known of those that came in a loop of ``asyncio``.
        coming: The places of what comes to those loops from outside: outcomes and arrivals.
        bursts: What came to one event loop at once: the places of each burst with their counts.
    """

    def __init__(self, calls: Sequence[RecordedCall], handoffs: Mapping[int, HandOff]) -> None:
        self.end = sum(1 + (call.ended is not None) for call in calls) + len(handoffs)
        self.cancelled = {call.ended for call in calls if call.status == StepStatus.CANCELLED.value}
        self.handed = frozenset(handoffs)
        self._arrivals = {place for place, each in handoffs.items() if each.what == ARRIVES}
        self._lanes = {place: each.lane for place, each in handoffs.items()}
        at = {place: each.at for place, each in handoffs.items()}
        for call in calls:
            at[call.asked], self._lanes[call.asked] = call.asked_at, call.lane
            if call.ended is not None:
                at[call.ended], self._lanes[call.ended] = call.ended_at, call.lane
        counted = [(call.ended, call.burst) for call in calls if call.ended is not None]
        self.bursts = list(bursts([*counted, *((place, each.burst) for place, each in handoffs.items())]))
        self.steps = dict(_steps(calls, handoffs))
        self._beside = {call.asked for call in calls if not call.asked_turn} | handoffs.keys()
        self._beside |= {call.ended for call in calls if call.ended is not None and not call.turn}
        self.coming = self.steps.keys() - {call.asked for call in calls}
        self.moments = [*accumulate((at.get(place, inf) for place in range(self.end)), max), inf]

    def lane(self, place: int) -> str:
        """The raw path of the lane in which a place came; empty where there is none."""
        return self._lanes.get(place, "")

    def giver(self, place: int) -> str:
        """The same; of an arrival, the lane of the thread that gives it."""
        return self.lane(place).removesuffix(f"/{ARRIVES}") if self.arrives(place) else self.lane(place)

    def in_thread(self, place: int) -> bool:
        """Whether it was a thread without an event loop that did it, or gave it to a loop."""
        if self.arrives(place):
            return True
        return place in self._beside and not self.lane(place).endswith((f"/{FIRES}", IN_LOOP))

    def arrives(self, place: int) -> bool:
        """Whether it is the arrival at an event loop of what a thread gave it."""
        return place in self._arrivals


def _steps(calls: Sequence[RecordedCall], handoffs: Mapping[int, HandOff]) -> Iterator[tuple[int, Steps]]:
    writer = calls[0].step.partition(":")[0] if calls else ""
    for call in calls:
        process = call.step.partition(":")[0]
        if len(call.asked_turn) == 3:
            yield call.asked, Steps((process, call.asked_turn[0]), call.asked_turn[2])
        if call.ended is not None and len(call.turn) == 5:
            yield call.ended, Steps((process, call.turn[0]), call.turn[4])
    for place, each in handoffs.items():
        noted = each.value[1:] if each.what == ARRIVES and isinstance(each.value, list) else each.value
        at = {ARRIVES: 4, FIRES: 3}.get(each.what)
        if isinstance(noted, list) and len(noted) == 5 and at is not None:
            loop, number = noted[0], noted[at]
            if isinstance(loop, int) and isinstance(number, int):
                yield place, Steps((writer, loop), number)
