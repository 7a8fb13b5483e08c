"""A replay's steps beside the recorded ones, while they come."""

from __future__ import annotations

from dataclasses import dataclass

from agentdbg.model.records import Step
from agentdbg.replay.cassette import served_steps
from agentdbg.store.protocols import RunSource


@dataclass(slots=True)
class Pair:
    """A recorded step and the replay's, by index; one of them alone where the other is not there (yet)."""

    recorded: int | None
    replayed: int | None = None


class PairTable:
    """Attributes:
    rows: The pairs, in recorded order; steps that the replay alone has stand behind the one that came before them.
    mates: Calls of the replay whose recorded step is known: id to index.
    newest: Row of the step that came last.
    """

    def __init__(self, recorded: RunSource) -> None:
        """All recorded steps, nothing beside them."""
        self._recorded = recorded.steps()
        self.rows = [Pair(index) for index in range(len(self._recorded))]
        self.mates: dict[str, int] = {}
        self.newest = 0
        self._taken: set[int] = set()
        self._free = 0
        self._empty = True

    def place(self, index: int, step: Step) -> None:
        """Put a step of the replay beside the recorded one that it stands for."""
        mate = self.mates.get(step.id)
        if mate is None:
            mate = self._like(step)
        if mate is not None and mate not in self._taken:
            self._taken.add(mate)
            self.newest = self.row_of(mate)
            self.rows[self.newest].replayed = index
        else:
            self.newest = self._behind()
            self.rows.insert(self.newest, Pair(None, index))
        self._empty = False

    def row_of(self, recorded: int) -> int:
        """The row of a recorded step."""
        at = recorded
        while self.rows[at].recorded != recorded:  # steps of the replay alone stand before it
            at += 1
        return at

    def _behind(self) -> int:
        at = 0 if self._empty else self.newest + 1
        while at < len(self.rows) and self.rows[at].recorded is None:
            at += 1
        return at

    def _like(self, step: Step) -> int | None:
        """The first recorded step of the same kind and name that nothing stands beside."""
        while self._free < len(self._recorded) and self._free in self._taken:
            self._free += 1
        for at in range(self._free, len(self._recorded)):
            other = self._recorded[at]
            if at not in self._taken and (other.kind, other.name) == (step.kind, step.name):
                return at
        return None


def steps_inside(recorded: RunSource) -> frozenset[int]:
    """Indexes of the steps that lie inside a call whose outcome is served as a whole."""
    met = {step.n - 1 for step in served_steps(recorded.steps())}
    return frozenset(index for index in range(len(recorded.steps())) if index not in met)
