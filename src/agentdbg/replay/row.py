"""What a record holds of calls and of hand-offs between threads, as one row of places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import inf

from agentdbg.model.records import StepStatus
from agentdbg.recording.handoff_seams import ARRIVES
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.placing import HandOff, bursts


class Row:
    """Every place's lane, moment and kind.

    Attributes:
        end: The place behind all others.
        moments: When each place came, in seconds on the recording machine's monotonic clock; ``inf`` at the end.
        cancelled: Places of outcomes that are cancellations.
        handed: Places of hand-offs.
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
        self.moments = [*accumulate((at.get(place, inf) for place in range(self.end)), max), inf]

    def lane(self, place: int) -> str:
        """The raw path of the lane in which a place came; empty where there is none."""
        return self._lanes.get(place, "")

    def giver(self, place: int) -> str:
        """The same; of an arrival, the lane of the thread that gives it."""
        return self.lane(place).removesuffix(f"/{ARRIVES}") if self.arrives(place) else self.lane(place)

    def arrives(self, place: int) -> bool:
        """Whether it is the arrival at an event loop of what a thread gave it."""
        return place in self._arrivals
