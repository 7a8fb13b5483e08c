"""The recorded completion order of a regression replay: kept as far as the record holds, then let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.order import CompletionOrder


class FreeOrder(CompletionOrder):
    """Recorded completion order, up to where the program leaves the record."""

    free = False

    def _is_turn(self, place: float) -> bool:
        if self.free and (stop := self._stopped()) is not None:
            raise stop
        return self.free or super()._is_turn(place)

    def let_go(self) -> None:
        """From now on nothing waits."""
        self.free = True
        self.wake_all()


def dense(calls: Sequence[RecordedCall], kept: frozenset[str]) -> list[RecordedCall]:
    """Some of the calls, their intents and outcomes numbered without gaps: the order that is kept before the cut."""
    chosen = [call for call in calls if call.step in kept]
    places = sorted([call.asked for call in chosen] + [call.ended for call in chosen if call.ended is not None])
    number = {place: position for position, place in enumerate(places)}
    return [
        replace(call, asked=number[call.asked], ended=None if call.ended is None else number[call.ended])
        for call in chosen
    ]
