"""Reads that gave something else than while recording: drift of the outside world, never the doing of a fix."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import asdict, dataclass

from agentdbg.compare.step_difference import Sameness, StepJudge, has_ended
from agentdbg.model.records import Effect, Kind, Step, StepStatus
from agentdbg.replay.cassette import served_steps
from agentdbg.store.protocols import RunSource

_READING = (Kind.TOOL, Kind.HTTP, Kind.RETRIEVAL, Kind.READ)
_STOPPED = ("Refused", "CallRefused")
"""Errors by which a replay stops something."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One read.

    Attributes:
        step: Its number in the recorded run.
        replayed: Its id in the replay.
        path: Where the results first differ.
    """

    step: int
    id: str
    name: str
    replayed: str
    path: str
    expected: str
    got: str

    def members(self) -> dict[str, object]:
        """As in the JSON document."""
        return asdict(self)


def drift_between(recorded: RunSource, replayed: RunSource, same: Sameness) -> tuple[Drift, ...]:
    """Live reads whose outcome is not that of the same recorded call (equal fingerprint, in turn)."""
    before: dict[str, deque[Step]] = defaultdict(deque)
    for step in served_steps(recorded.steps()):
        if step.is_call and step.fingerprint and has_ended(step):
            before[step.fingerprint].append(step)
    judge = StepJudge(recorded, replayed, same)
    found = []
    for step in served_steps(replayed.steps()):
        queue = before.get(step.fingerprint or "")
        if not step.is_call or not queue:
            continue
        mate = queue.popleft()
        if not _is_live_read(step) or not has_ended(step):
            continue
        if was_stopped(step) or step.status is StepStatus.CANCELLED:
            continue  # not the outside world's doing
        difference = judge.outcome(mate, step)
        if difference is not None:
            found.append(
                Drift(mate.n, mate.id, mate.name, step.id, difference.path, difference.expected, difference.got)
            )
    return tuple(found)


def was_stopped(step: Step) -> bool:
    """Whether a replay stopped what a step was about to do."""
    return step.error is not None and step.error.type.rpartition(".")[2] in _STOPPED


def _is_live_read(step: Step) -> bool:
    return step.kind in _READING and step.effect is Effect.READ and "served_from" not in step.attrs
