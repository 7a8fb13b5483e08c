"""What some sources offer beyond the protocol: used where it is there, done without where it is not."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from agentdbg.model.records import BodyRef, Effect, Json, Kind, Step, StepStatus
from agentdbg.store.protocols import RunSource


@runtime_checkable
class SelectsPositions(Protocol):
    """Finds steps by their columns, without building them."""

    def positions(
        self,
        *,
        kinds: Collection[Kind] = (),
        effects: Collection[Effect] = (),
        statuses: Collection[StepStatus] = (),
    ) -> array[int]:
        """Sorted positions of the steps of these kinds, effects and statuses."""


@runtime_checkable
class KeepsRecords(Protocol):
    """Has the records of a step as they were written."""

    def events(self, step: Step) -> Sequence[bytes]:
        """The records of a step."""

    def chunks(self, step: Step) -> Sequence[BodyRef]:
        """The stream events of a model call, as far as they came."""


class RunRecord(Protocol):
    """A record that belongs to no step."""

    @property
    def members(self) -> Mapping[str, Json]:
        """The record, parsed."""


@runtime_checkable
class KeepsRunRecords(Protocol):
    """Has records about the run as a whole: its environment, its files."""

    def extra_events(self, kind: str | None = None) -> Iterator[RunRecord]:
        """The records of one type that belong to no step."""


def is_complete(source: RunSource) -> bool:
    """Whether all steps that are there have been read."""
    return bool(getattr(source, "complete", True))


def watch_kind(source: RunSource) -> str:
    """How new events are noticed: ``events`` or ``polling``."""
    kind = getattr(source, "watch_kind", "polling")
    return kind if kind in ("events", "polling") else "polling"
