"""The run that a session's run is compared with: signs per step, and where the two part."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agentdbg.debugging.capabilities import is_complete
from agentdbg.model.records import Step
from agentdbg.store.protocols import RunSource, RunStore

if TYPE_CHECKING:
    from agentdbg.compare.answers import Answer
    from agentdbg.compare.inputs import InputTable
    from agentdbg.compare.pairs import StepPair
    from agentdbg.compare.parting import RunDifference

SAME, CHANGED, ADDED, REMOVED = "=", "~", "+", "-"
TWIN: Final = "@twin"
SIFTED: Final = 3_000
"""Pairs whose bodies are looked at to tell what differs by chance alone."""
_STEP: Final = re.compile(r"step (\d+)")


@dataclass(frozen=True)
class ComparedRun:
    """Two runs side by side.

    Attributes:
        difference: What comparing them found; ``a`` is the run that is measured against.
        why: Why the second run was chosen, where that was not the user.
        chance: Places of pairs that differ by chance alone (times, ids), each with a word for it.
        aspects: Places of pairs that differ tellingly, each with the first aspect that does.
        causes: For the pair at a place, the cause class of each row of its input table, once known.
        stops: Places that differ tellingly, in order, as of the last ``settle``.
        answers: The six answers, once known, each with the place of its first evidence.
    """

    difference: RunDifference
    why: str = ""
    chance: dict[int, str] = field(default_factory=dict)
    aspects: dict[int, str] = field(default_factory=dict)
    causes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    answers: list[tuple[Answer, int | None]] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    _after: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note where steps of the second run alone would stand."""
        for place in self.difference.paired.differing:
            if self.difference.paired.pairs[place].i is None:
                index = self.index_of(place)
                self._after[index] = self._after.get(index, 0) + 1
        self.settle()

    @property
    def other(self) -> RunSource:
        """The second run."""
        return self.difference.b

    @property
    def other_id(self) -> str:
        """The second run's id."""
        return self.difference.b.summary().run_id

    @property
    def pairs(self) -> tuple[StepPair, ...]:
        """All pairs, in order."""
        return self.difference.paired.pairs

    def place_of(self, index: int) -> int | None:
        """Place of the pair that a step of the first run belongs to."""
        return self.difference.paired.place_of_a.get(index)

    def index_of(self, place: int) -> int:
        """The step of the first run at a place, or the one that stands before it."""
        for at in range(place, -1, -1):
            index = self.pairs[at].i
            if index is not None:
                return index
        return 0

    def steps_at(self, place: int) -> tuple[Step | None, Step | None]:
        """The two steps of a pair."""
        pair = self.pairs[place]
        return _step(self.difference.a, pair.i), _step(self.difference.b, pair.j)

    def mate(self, index: int) -> Step | None:
        """The second run's step beside a step of the first."""
        place = self.place_of(index)
        return self.steps_at(place)[1] if place is not None else None

    def word(self, place: int) -> str:
        """In a word how the steps of a pair differ: by their first aspect, or by chance alone."""
        pair = self.pairs[place]
        if pair.sign == SAME:
            return "same"
        if pair.sign in (ADDED, REMOVED):
            return "only"
        return self.chance.get(place) or self.aspect(place) or "differs"

    def aspect(self, place: int) -> str:
        """In what a pair differs: what says something, else what comes first."""
        parting = self.difference.parting
        if place == self.parting_place and parting is not None and parting.aspect:
            return parting.aspect
        aspects = self.pairs[place].aspects
        return self.aspects.get(place) or (aspects[0] if aspects else "")

    def is_telling(self, place: int) -> bool:
        """Whether a pair differs in more than chance explains, as far as that is known."""
        return self.pairs[place].sign != SAME and place not in self.chance

    def following(self, index: int) -> int:
        """How many steps of the second run alone stand after a step of the first."""
        return self._after.get(index, 0)

    @property
    def parting_place(self) -> int | None:
        """Place of the first difference that says something."""
        parting = self.difference.parting
        if parting is None:
            return None
        pair = parting.pair
        paired = self.difference.paired
        if pair.i is not None:
            return paired.place_of_a.get(pair.i)
        return paired.place_of_b.get(pair.j) if pair.j is not None else None

    def next_place(self, place: int, direction: int) -> int | None:
        """The next place, after or before one, that differs tellingly."""
        at = bisect_right(self.stops, place) if direction > 0 else bisect_left(self.stops, place) - 1
        return self.stops[at] if 0 <= at < len(self.stops) else None

    def settle(self) -> None:
        """Take in what has become known about chance."""
        self.stops[:] = [place for place in self.difference.paired.differing if place not in self.chance]

    def headline(self) -> str:
        """The whole answer in one line."""
        parting = self.difference.parting
        if self.difference.a_is_b:
            return "a run compared with itself: nothing differs"
        if parting is None:
            return "no difference"
        found = parting.divergence
        where = f"{parting.aspect} {found.path}".strip()
        line = f"{found.cause}: {where}: {found.expected} → {found.got} at step {found.step} {found.name}"
        return f"{line}; {parting.why}" if parting.why else line

    def answer(self) -> None:
        """Answer the six questions; builds all steps, so it belongs on a worker."""
        if not self.answers:
            self.answers.extend((answer, self._evidence(answer.evidence)) for answer in self.difference.answers)

    def _evidence(self, line: str) -> int | None:
        """The place of the first step that a line of evidence names."""
        found = _STEP.search(line)
        if found is None:
            return self.parting_place
        paired, index = self.difference.paired, int(found[1]) - 1
        only_there = "(only in the second run)" in line.split(";", 1)[0]
        return (paired.place_of_b if only_there else paired.place_of_a).get(index)

    def sift(self, stop: Callable[[], bool]) -> Iterator[int]:
        """Tell chance from the rest, pair by pair: reads bodies, so it belongs on a worker. Yields each place done."""
        from agentdbg.compare.alignment import Stopped
        from agentdbg.compare.chance import Chance
        from agentdbg.compare.pairs import INPUT

        chance = Chance(self.difference.a, self.difference.b)
        for place in self.difference.paired.differing[:SIFTED]:
            if stop():
                raise Stopped
            pair = self.pairs[place]
            if pair.sign != CHANGED:
                continue
            if INPUT in pair.aspects:
                self.causes[place] = tuple(row.cause for row in self.difference.segments(pair, chance))
            found = self.difference.differences(pair, 1)
            telling = next((one for one in found if one.telling), None)
            if telling is not None:
                self.aspects[place] = telling.aspect
            elif found:
                self.chance[place] = found[0].divergence.cause
            yield place


def compare_runs(a: RunSource, b: RunSource, stop: Callable[[], bool], why: str = "") -> ComparedRun:
    """Compare two runs, each as far as it has come by now.

    Raises:
        Stopped: ``stop`` said so.
    """
    from agentdbg.compare.parting import part

    for source in (a, b):
        while not is_complete(source) and not stop():
            if not source.poll():
                break  # what is left is no whole record yet
    return ComparedRun(part(a, b, should_stop=stop), why)


def suggest_twin(store: RunStore, source: RunSource, stop: Callable[[], bool]) -> tuple[str | None, str]:
    """Id of the nearest good run, and why it is; ``None`` and why there is none.

    Raises:
        Stopped: ``stop`` said so.
    """
    from agentdbg.compare import twin

    found = twin.find(store, source, should_stop=stop)
    return (found.run_id, found.why) if found is not None else (None, twin.missing(source, store))


def input_rows(compared: ComparedRun | None, source: RunSource, step: Step) -> InputTable:
    """The input hash table of a model call: against the compared run, or alone against the lane's previous call."""
    from agentdbg.compare.inputs import input_change, input_table

    if compared is None:
        return input_change(source, step)
    return input_table(source, step, compared.other, compared.mate(step.n - 1))


def _step(source: RunSource, index: int | None) -> Step | None:
    if index is None:
        return None
    steps = source.steps()
    return steps[index] if index < len(steps) else None
