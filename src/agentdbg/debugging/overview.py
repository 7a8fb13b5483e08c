"""What a whole run did, gathered in one pass over its skeleton: effects, errors, approvals, models, tokens, holes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from agentdbg.debugging import marks
from agentdbg.debugging.coverage import Coverage
from agentdbg.model import outward
from agentdbg.model.records import Effect, Kind, Step, StepStatus

_LISTED: Final = 200
_CHUNK: Final = 2_000
_ENCLOSING: Final = (Kind.AGENT, Kind.NODE)


class Landmark(IntEnum):
    """What a place in a run is known for, the most telling last."""

    WRITE = 1
    EXTERNAL = 2
    APPROVAL = 3
    OPEN = 4
    ERROR = 5
    DIVERGENCE = 6


@dataclass(slots=True)
class Tally:
    """A count, and the first few steps behind it."""

    count: int = 0
    steps: list[Step] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Count a step, and keep it while the list is short."""
        self.count += 1
        if len(self.steps) < _LISTED:
            self.steps.append(step)


@dataclass(slots=True)
class Overview:
    """Facts about a run; every ``first`` and ``last`` is an index into its steps.

    Attributes:
        places: Indexes of the steps that are landmarks, in order.
        codes: Which landmark each of them is.
    """

    steps: int = 0
    complete: bool = False
    done: Tally = field(default_factory=Tally)
    in_doubt: Tally = field(default_factory=Tally)
    served: Tally = field(default_factory=Tally)
    refused: Tally = field(default_factory=Tally)
    instead: Tally = field(default_factory=Tally)
    repeated: Tally = field(default_factory=Tally)
    approvals: Tally = field(default_factory=Tally)
    errors: Tally = field(default_factory=Tally)
    holes: Tally = field(default_factory=Tally)
    coverage: Coverage = field(default_factory=Coverage)
    models: dict[str, int] = field(default_factory=dict)
    kinds: dict[Kind, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    final_state: str = ""
    first_divergence: int | None = None
    first_error: int | None = None
    first_open: int | None = None
    last_outward: int | None = None
    last_model: int | None = None
    places: array[int] = field(default_factory=lambda: array("Q"))
    codes: array[int] = field(default_factory=lambda: array("B"))
    _error_encloses: bool = False
    _seen: set[str] = field(default_factory=set)

    def feed(self, index: int, step: Step, *, divergence_id: str | None = None) -> None:
        """Take one step into account."""
        self.steps += 1
        landmark = _landmark(step, diverged=step.id == divergence_id)
        if landmark is not None:
            self.places.append(index)
            self.codes.append(landmark)
        self.kinds[step.kind] = self.kinds.get(step.kind, 0) + 1
        if self.first_divergence is None and (step.id == divergence_id or marks.is_divergent(step)):
            self.first_divergence = index
        if marks.is_error(step):
            self.errors.add(step)
            if self.first_error is None or (self._error_encloses and step.kind not in _ENCLOSING):
                self.first_error = index
                self._error_encloses = step.kind in _ENCLOSING
        if step.status is StepStatus.OPEN and self.first_open is None and step.kind is not Kind.AGENT:
            self.first_open = index
        if step.kind is Kind.APPROVAL:
            self.approvals.add(step)
        if step.kind is Kind.CHECKPOINT and isinstance(status := step.attrs.get("status"), str):
            self.final_state = status
        if step.kind is Kind.MODEL:
            self.last_model = index
            self._feed_model(step)
        if step.kind is Kind.EFFECT:
            self.coverage.feed(step)
        if step.holes:
            self.holes.add(step)
        if marks.is_outward(step):
            self._feed_effect(index, step)

    def scene(self) -> int | None:
        """Where to look first: divergence, else error, else open intent, else the last effect outside."""
        for index in (self.first_divergence, self.first_error, self.first_open, self.last_outward):
            if index is not None:
                return index
        return None

    def _feed_model(self, step: Step) -> None:
        self.models[step.name] = self.models.get(step.name, 0) + 1
        if step.usage is not None:
            self.input_tokens += step.usage.input or 0
            self.output_tokens += step.usage.output or 0
            self.cached_tokens += step.usage.cached or 0

    def _feed_effect(self, index: int, step: Step) -> None:
        state = outward.how_far(step)
        if state == outward.REFUSED:
            self.refused.add(step)
            return
        if state in outward.NOT_MADE:  # nothing was done outside
            self.last_outward = index
            (self.served if state == outward.SERVED else self.instead).add(step)
            return
        if step.status in (StepStatus.OPEN, StepStatus.CANCELLED, StepStatus.TIMED_OUT):
            self.in_doubt.add(step)
            return
        self.last_outward = index
        if step.status is StepStatus.ERROR:
            self.in_doubt.add(step)
            return
        self.done.add(step)
        identity = step.idempotency_key or step.fingerprint
        if identity is not None and step.effect in (Effect.WRITE, Effect.EXTERNAL):
            if identity in self._seen:
                self.repeated.add(step)
            self._seen.add(identity)


def _landmark(step: Step, *, diverged: bool) -> Landmark | None:
    if diverged or marks.is_divergent(step):
        return Landmark.DIVERGENCE
    if marks.is_error(step) and step.kind not in _ENCLOSING:
        return Landmark.ERROR
    if step.status is StepStatus.OPEN and step.kind not in _ENCLOSING:
        return Landmark.OPEN
    if step.kind is Kind.APPROVAL:
        return Landmark.APPROVAL
    return {Effect.WRITE: Landmark.WRITE, Effect.EXTERNAL: Landmark.EXTERNAL}.get(step.effect or Effect.NONE)


def gather(
    steps: Sequence[Step], *, divergence_id: str | None = None, stop: Callable[[], bool] = lambda: False
) -> Overview:
    """Look at every step once.

    Args:
        steps: The run's steps.
        divergence_id: Step at which the run's verdict places the first divergence.
        stop: Asked now and then; the pass ends early, and is not ``complete``, when it says so.
    """
    overview = Overview()
    count = len(steps)
    for start in range(0, count, _CHUNK):
        if stop():
            return overview
        for index in range(start, min(start + _CHUNK, count)):
            try:
                step = steps[index]
            except IndexError:  # the files were truncated or replaced meanwhile
                return overview
            overview.feed(index, step, divergence_id=divergence_id)
    overview.complete = True
    return overview
