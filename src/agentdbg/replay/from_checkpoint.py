"""A record from one of its checkpoints on: without what the call that goes on there had done before."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping

from agentdbg.model.records import Effect, Kind, RunSummary, Step, StepStatus
from agentdbg.replay.prefix import moments
from agentdbg.store.reader import DirectoryRunSource
from agentdbg.store.step_list import ExtraEvent


class FromCheckpoint(DirectoryRunSource):
    """The same record without what had ended when a checkpoint was made; steps keep their numbers.

    Attributes:
        whole: The record with everything.
        number: Number of the checkpoint's step.
    """

    def __init__(self, whole: DirectoryRunSource, checkpoint: Step, inside: Step) -> None:
        """Look at a run from a checkpoint on; everything is read by ``whole``, which is closed by who opened it.

        Args:
            whole: The run.
            checkpoint: The checkpoint.
            inside: The call that goes on from there; what led to it is looked at too.
        """
        self.whole = whole
        self.number = checkpoint.n
        self._began, self._since = moments(whole, inside)[0], moments(whole, checkpoint)[0]
        self._first = inside.n
        self._kept = [*range(inside.n), *range(checkpoint.n, len(whole.steps()))]

    def __getattr__(self, name: str) -> object:
        return getattr(self.whole, name)

    @property
    def since(self) -> float:
        """When the checkpoint was made, in nanoseconds on the recording machine's monotonic clock."""
        return self._since[0]

    def is_made_again(self, number: int) -> bool:
        """Whether that step lies ahead of the call that goes on, or behind the checkpoint."""
        return number < self._first or number > self.number

    def summary(self) -> RunSummary:
        """The run's row."""
        return self.whole.summary()

    def step_count(self) -> int:
        """Number of steps: those up to the call that goes on, and those behind the checkpoint."""
        return len(self._kept)

    def step_at(self, position: int) -> Step:
        """The step at a position among them."""
        return self.whole.step_at(self._kept[position])

    def positions(
        self,
        *,
        kinds: Collection[Kind] = (),
        effects: Collection[Effect] = (),
        statuses: Collection[StepStatus] = (),
    ) -> array[int]:
        """Positions among them of the steps of any of these kinds, effects and statuses."""
        places = {kept: place for place, kept in enumerate(self._kept)}
        found = self.whole.positions(kinds=kinds, effects=effects, statuses=statuses)
        return array(found.typecode, (places[each] for each in found if each in places))

    def step_by_id(self, step_id: str) -> Step | None:
        """The step with that permanent id, before the checkpoint too."""
        return self.whole.step_by_id(step_id)

    def extra_events(self, kind: str | None = None) -> Iterator[ExtraEvent]:
        """Records that belong to no step; of what was drawn, not what was between that call and the checkpoint."""
        for event in self.whole.extra_events(kind):
            if event.type != "draws" or not self._began <= moment_of(event.members) <= self._since:
                yield event

    def skipped_draws(self) -> Iterator[ExtraEvent]:
        """What was drawn between that call and the checkpoint."""
        for event in self.whole.extra_events("draws"):
            if self._began <= moment_of(event.members) <= self._since:
                yield event

    def index(self, seconds: float | None = None) -> bool:
        """Read on."""
        return self.whole.index(seconds)

    def poll(self) -> bool:
        """Look for what is new."""
        return self.whole.poll()

    def close(self) -> None:
        """Nothing: the whole record is closed by who opened it."""


def moment_of(members: Mapping[str, object]) -> tuple[float, int]:
    """When a record was written."""
    mono, seq = members.get("mono"), members.get("seq")
    return (float(mono) if isinstance(mono, int | float) else 0.0, seq if isinstance(seq, int) else 0)
