"""The two protocols that everything hangs on: how a run is read, and where runs live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from agentdbg.model.records import BodyRef, Origin, RunSummary, Segment, Step


class BodyMissing(Exception):
    """A body that the record names cannot be read: pruned, torn, or its bytes do not have the hash."""


class RunSource(Protocol):
    """Reads one run. Synchronous and thread-safe; the skeleton opens without any body."""

    def summary(self) -> RunSummary:
        """The run's row, as of the last ``poll``."""

    def steps(self) -> Sequence[Step]:
        """All steps known so far, in display order: an indexed sequence that builds a step when it is asked for."""

    def step_by_id(self, step_id: str) -> Step | None:
        """The step with that permanent id, or ``None``."""

    def body(self, ref: BodyRef) -> bytes:
        """The (redacted) bytes of a body, checked against its hash.

        Raises:
            BodyMissing: They cannot be read.
        """

    def segments(self, step: Step) -> Sequence[Segment]:
        """The full segment list of a model input, in the order sent; empty for other kinds."""

    def origin(self, step: Step, field: str) -> Origin:
        """How far ``field`` of ``step`` may be trusted as evidence."""

    def problems(self) -> Sequence[str]:
        """One line for each thing that is damaged or missing (torn records, bad checksums, looser modes)."""

    def poll(self) -> bool:
        """Look for new events; ``True`` when something changed. Never blocks."""

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` (from any thread) when ``poll`` is worth calling; returns the function that stops it."""

    def close(self) -> None:
        """Release files and threads."""


class RunStore(Protocol):
    """Holds runs."""

    def location(self) -> str:
        """The store's address, for messages."""

    def summaries(self) -> Iterable[RunSummary]:
        """All runs, newest first. A run that cannot be read is a summary with a hole, never an exception."""

    def open(self, run_id: str) -> RunSource:
        """Open one run.

        Raises:
            KeyError: There is no such run.
        """
