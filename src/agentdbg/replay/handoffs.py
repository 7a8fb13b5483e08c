"""Lets threads hand things to each other in the recorded order (see `agentdbg.recording.handoffs`).

Every lane has its hand-offs in a row, and all of them stand in one row with the recorded intents and outcomes. A thread
that comes to its next one waits until all that is ahead of it has happened. What was waited for in vain is in vain
again, without taking the time. When a lane does something else than was recorded, or nothing goes on any more, the
order is let go for the rest of the replay, and said to be lost; what the program then does is compared as ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentdbg.model.records import Json
from agentdbg.recording.firings import FIRES, KNOWN
from agentdbg.recording.handoff_seams import WAITED
from agentdbg.recording.handoffs import CUT, Arrival, Turn, state
from agentdbg.recording.loop_arrivals import ARRIVES
from agentdbg.replay.by_hand import by_hand
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.placing import HandOff

if TYPE_CHECKING:
    from agentdbg.replay.order import CompletionOrder


_NEAR = 4
_GIVERS = {
    "is_set": "set", "wait": "set", "is_done": "done", "result": "done", "acquire": "release", "is_running": "runs",
    "is_cancelled": "cancel",
}  # fmt: skip


def in_one_row(cassette: Cassette) -> tuple[Cassette, dict[int, HandOff]]:
    """The cassette with its calls' places moved apart by the hand-offs between them; those by their places."""
    if not cassette.handoffs:
        return cassette, {}
    places: list[int] = []
    found: dict[int, HandOff] = {}
    waiting = deque(each for each in cassette.handoffs if each.what not in (CUT, KNOWN))
    count = sum(1 + (call.ended is not None) for call in cassette.calls)
    for n in range(count + 1):
        while waiting and (waiting[0].before <= n or n == count):
            found[len(places) + len(found)] = waiting.popleft()
        places.append(len(places) + len(found))
    calls = tuple(
        replace(call, asked=places[call.asked], ended=None if call.ended is None else places[call.ended])
        for call in cassette.calls
    )
    return replace(cassette, calls=calls), found


@dataclass(slots=True, eq=False)
class _Due:
    """A recorded hand-off that has not happened."""

    place: int
    what: str
    value: Json
    left: int

    @property
    def in_vain(self) -> bool:
        """It was recorded to have been waited or asked for in vain."""
        return self.value is False or (type(self.value) is int)


class HandOffOrder:
    """Thread-safe.

    Attributes:
        lost: Why the order is not kept any more; empty as long as it is.
    """

    def __init__(self, order: CompletionOrder, handoffs: Mapping[int, HandOff], *, cut: bool) -> None:
        self.lost = ""
        self._order = order
        self._places = tuple(handoffs)
        self._lanes: dict[str, deque[_Due]] = {}
        self._cut = cut
        self._on_the_way: set[int] = set()
        self._whats = {place: each.what for place, each in handoffs.items()}
        for place, each in handoffs.items():
            if each.what == FIRES:
                continue
            due = _Due(place, each.what, each.value, max(1, each.times))
            self._lanes.setdefault(each.lane, deque()).append(due)

    def install(self) -> None:
        """From now on the program's hand-offs are kept to the order."""
        if self._lanes or self._cut:
            state.keeper = self
        if self._order.firings is not None:
            self._order.firings.install()
        self._order.given_up = lambda: self.let_go("an outcome did not come to its turn")

    def turn(self, lane: str, what: str) -> Turn | None:
        """Block until the lane's next hand-off may happen; ``None`` when there is no order to keep to any more."""
        if by_hand():
            return None  # a person typed it: the record knows nothing of it
        order = self._order
        order.here(lane)
        due = self._due(lane, what)
        if due is not None:
            if order.reach(due.place, after_others=type(due.value) is int and what != WAITED):
                return None if self.lost else due
        elif self.lost or (not self._cut and order.reach(order.end)):
            return None
        cut = f"no hand-offs are recorded from {what} in lane {lane} on: too many"
        self.let_go(cut if self._cut else f"the turn of {what} in lane {lane} did not come")
        return None

    def done(self, turn: Turn) -> None:
        """It has happened."""
        assert isinstance(turn, _Due)
        with self._order.changed:
            if self.lost:
                return
            turn.left -= 1
            if turn.left:
                return
            for row in self._lanes.values():
                if row and row[0] is turn:
                    row.popleft()
                    break
        self._order.take(turn.place)

    def doubt(self, turn: Turn) -> bool:
        """What was asked for is there already, or not yet. Whether the order is let go for that.

        What gives and what takes are noted beside what they do: the two may have been noted the other way round where
        they came within microseconds. A thread that is about to end, ends soon.
        """
        assert isinstance(turn, _Due)
        givers = _GIVERS.get(turn.what, "")
        near = [self._whats.get(place) for place in range(turn.place - _NEAR, turn.place + _NEAR + 1)]
        if turn.what == "is_alive" or givers in near:
            return False
        self.let_go(f"{turn.what} found something else than was recorded")
        return True

    def handed(self, lane: str, arrival: Arrival) -> None:
        """A thread gives a loop something, which will arrive there."""
        with self._order.changed:
            due = next((each for each in self._lanes.get(lane, ()) if each.place not in self._on_the_way), None)
            if due is None or self.lost:
                return
            self._on_the_way.add(due.place)
        self._order.handed(due.place, arrival)

    def arrive(self, loop: Any, lane: str, run: Callable[[Turn | None], None]) -> None:
        """What another thread gave a loop has arrived there: run it when its turn has come."""
        due = self._due(lane, ARRIVES)
        place = self._order.end if due is None else due.place
        if self.lost:
            run(None)
            return
        if due is not None:
            with self._order.changed:
                self._lanes[lane].popleft()

        def come() -> None:
            if due is not None and not self.lost:
                self._order.take(due.place)
            run(due)

        self._order.arrive(loop, place, come)

    def _due(self, lane: str, what: str) -> _Due | None:
        """The lane's next hand-off; ``None`` when the record has none."""
        with self._order.changed:
            row = self._lanes.get(lane)
            if self.lost or not row:
                return None
            if row[0].what == what:
                return row[0]
            recorded = row[0].what
        self.let_go(f"{what} in lane {lane} where the record has {recorded}")
        return None

    def let_go(self, reason: str) -> None:
        """The order is not kept any more."""
        with self._order.changed:
            if self.lost or self._order.is_over():
                return
            self.lost = reason
            if self._order.firings is not None:
                self._order.firings.active = False
        self._order.take(*self._places)
