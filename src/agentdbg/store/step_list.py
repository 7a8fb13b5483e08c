"""What a run directory hands out: its steps as a lazy sequence, and the records that belong to no step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

from agentdbg.model.records import Json, Step


class StepSource(Protocol):
    """What a ``StepList`` reads from."""

    def step_count(self) -> int:
        """Number of steps known so far."""

    def step_at(self, position: int) -> Step:
        """The step at a display position."""


@dataclass(frozen=True, slots=True)
class ExtraEvent:
    """A record that belongs to no step.

    Attributes:
        writer: Id of the writer.
        type: Event type; it may be one that this version does not know.
        raw: The record's bytes.
        members: The record parsed; empty when it can no longer be read.
    """

    writer: str
    type: str
    raw: bytes
    members: Mapping[str, Json]


class StepList(Sequence[Step]):
    """The steps of a source in display order, built when they are asked for.

    A live view: it grows as the source does.
    """

    def __init__(self, source: StepSource) -> None:
        self._source = source

    def __len__(self) -> int:
        return self._source.step_count()

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        if isinstance(index, slice):
            return [self._source.step_at(i) for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        return self._source.step_at(index)
