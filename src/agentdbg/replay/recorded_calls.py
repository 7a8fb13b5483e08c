"""The recorded calls of a regression replay, found for the calls that the program makes now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agentdbg.model.records import Json
from agentdbg.recording.calls import Call
from agentdbg.replay.cassette import RecordedCall
from agentdbg.replay.policy import Match

Place = tuple[str, str, str]


class RecordedCalls:
    """Finds by fingerprint, then by alpha fingerprint, then by place: lane, kind, name, occurrence. Not thread-safe."""

    def __init__(self, calls: Sequence[RecordedCall], facts: Mapping[str, Mapping[str, Any]]) -> None:
        """``facts``: by step, ``alpha`` and idempotency ``key``."""
        self._facts = facts
        self._unserved = {call.step: call for call in calls}
        self._same: dict[str, list[RecordedCall]] = defaultdict(list)
        self._renamed: dict[str, list[RecordedCall]] = defaultdict(list)
        self._places: dict[Place, list[RecordedCall]] = defaultdict(list)
        self._asked: dict[Place, int] = defaultdict(int)
        self._homes: dict[str, str] = {}
        for call in calls:
            self._same[call.fingerprint].append(call)
            if alpha := str(facts.get(call.step, {}).get("alpha") or ""):
                self._renamed[alpha].append(call)
            self._places[call.lane, call.kind, call.name].append(call)

    def count(self, call: Call) -> None:
        """A call is made: it has a place."""
        self._asked[self._place(call)] += 1

    def find(
        self, call: Call, within: Collection[str] | None = None, *, without: Collection[str] = (), by_place: bool
    ) -> tuple[RecordedCall | None, Match]:
        """The unserved recorded call that this one is.

        Args:
            call: What is made.
            within: Ids of the recorded calls to look among; all when ``None``.
            without: Ids of those that are not meant.
            by_place: Whether the place counts when nothing else matches.
        """

        def open_ones(calls: Sequence[RecordedCall]) -> list[RecordedCall]:
            return [
                each
                for each in calls
                if each.step in self._unserved and (within is None or each.step in within) and each.step not in without
            ]

        home = self._homes.get(call.lane, call.lane)
        for table, identity, match in (
            (self._same, call.fingerprint, Match.SAME),
            (self._renamed, call.alpha, Match.RENAMED),
        ):
            found = open_ones(table.get(identity, ()))
            if found:
                return next((each for each in found if each.lane == home), found[0]), match
        if not by_place:
            return None, Match.NONE
        there = self._places.get(self._place(call), [])
        number = self._asked[self._place(call)] - 1
        exact = open_ones(there[number : number + 1]) if number >= 0 else []
        found = exact or open_ones(there)
        return (found[0], Match.PLACE) if found else (None, Match.NONE)

    def at_place(self, call: Call) -> RecordedCall | None:
        """The recorded call of the same lane, kind, name and occurrence, served or not."""
        there = self._places.get(self._place(call), [])
        number = self._asked[self._place(call)] - 1
        return there[number] if 0 <= number < len(there) else None

    def take(self, call: Call, recorded: RecordedCall) -> None:
        """A recorded call is served."""
        self._unserved.pop(recorded.step, None)
        self._homes.setdefault(call.lane, recorded.lane)

    def left_in(self, lane: str, within: Collection[str]) -> RecordedCall | None:
        """The first unserved call of a lane among some."""
        home = self._homes.get(lane, lane)
        found = [each for each in self._unserved.values() if each.step in within and each.lane == home]
        return min(found, key=lambda each: each.asked, default=None)

    def left(self, within: Collection[str] | None = None) -> int:
        """How many are unserved."""
        return sum(1 for step in self._unserved if within is None or step in within)

    def unserved(self, within: Collection[str]) -> list[str]:
        """Which of some are unserved."""
        return [step for step in self._unserved if step in within]

    def has_key(self, name: str, key: str) -> bool:
        """Whether a tool was recorded with that idempotency key."""
        keys: list[Json] = [
            self._facts.get(each.step, {}).get("key")
            for place, calls in self._places.items()
            if place[2] == name
            for each in calls
        ]
        return key in keys

    def _place(self, call: Call) -> Place:
        return self._homes.get(call.lane, call.lane), call.kind.value, call.name
