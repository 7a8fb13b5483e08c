"""The causal cut before a checkpoint: the recorded calls whose outcomes were there when its step began."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agentdbg.model.records import Kind, Step
from agentdbg.replay.cassette import RecordedCall
from agentdbg.store.reader import DirectoryRunSource


class NoSuchStep(Exception):
    """The run has no such step to start from; the message says what it has."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Attributes:
    step: Number of the checkpoint's step.
    calls: Ids of the calls before it.
    """

    step: int
    calls: frozenset[str]


def cut_before(source: DirectoryRunSource, number: int, calls: Sequence[RecordedCall]) -> Cut:
    """The cut before step ``number``: what had ended when it began, so that with a call all that led to it is there.

    A call of another line of execution that was still under way is behind the cut.

    Raises:
        NoSuchStep: There is no such step.
    """
    steps = source.steps()
    if not 1 <= number <= len(steps):
        raise NoSuchStep(f"run {source.summary().run_id} has no step {number}: it has steps 1 to {len(steps)}")
    at = moments(source, steps[number - 1])[0]
    before = set()
    for call in calls:
        step = source.step_by_id(call.step)
        if call.ended is None or step is None or step.n >= number:
            continue
        if moments(source, step)[-1] < at:
            before.add(call.step)
    return Cut(number, frozenset(before))


def moments(source: DirectoryRunSource, step: Step) -> list[tuple[float, int]]:
    """When each record of a step was written."""
    found = []
    for line in source.events(step):
        event = json.loads(line)
        mono, seq = event.get("mono"), event.get("seq")
        if isinstance(mono, int | float) and isinstance(seq, int):
            found.append((float(mono), seq))
    return sorted(found) or [(0.0, step.n)]


def earlier_checkpoint(source: DirectoryRunSource, step_id: str) -> int | None:
    """Number of the last checkpoint ahead of a step, to be proposed in place of a later one."""
    step = source.step_by_id(step_id)
    if step is None:
        return None
    found = [each.n for each in source.steps() if each.kind is Kind.CHECKPOINT and each.n < step.n]
    return found[-1] if found else None
