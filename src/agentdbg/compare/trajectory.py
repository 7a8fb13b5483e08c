"""Two runs as partial orders: lane by lane, byte for byte, and where they first part."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias

from agentdbg.compare.lane_pairs import Lane, LanePair, met_steps, pair_lanes, tree
from agentdbg.compare.step_difference import (
    ENCLOSING,
    ByHash,
    Divergence,
    Sameness,
    StepJudge,
    called,
    divergence,
    has_ended,
)
from agentdbg.model.records import RunStatus, Step, StepStatus
from agentdbg.store.protocols import RunSource

__all__ = ["Comparison", "Divergence", "StepPair", "called", "compare", "met_steps"]

StepPair: TypeAlias = "tuple[Step | None, Step | None]"
NO_STEP = "(the record has no further step here)"
StepKey: TypeAlias = "Callable[[Step], Hashable]"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Attributes:
    identical: Bijection of lanes, order within lanes, spawn edges and all bytes agree.
    agreed: Number of steps that agree.
    divergence: Where they first part; ``None`` too when the second run only stopped earlier.
    missing: Steps of the first run that the second does not have.
    unfinished: Steps that the second run began and did not end, although the first did.
    pairs: Steps that stand at the same place of both runs.
    """

    identical: bool
    agreed: int
    divergence: Divergence | None
    missing: tuple[Step, ...] = ()
    unfinished: tuple[Step, ...] = ()
    pairs: tuple[StepPair, ...] = ()


def compare(
    recorded: RunSource,
    other: RunSource,
    *,
    same: Sameness | None = None,
    key: StepKey | None = None,
    stopped: bool = False,
) -> Comparison:
    """Compare a replay with its record (or any two runs) as partial orders.

    Args:
        recorded: The run that is the measure.
        other: The run that is judged.
        same: What counts as the same; equal bytes when not given.
        key: What identifies a step's content when lanes are paired; its hashes when not given.
        stopped: The judged run was ended from outside, so that what it lacks is no difference.
    """
    lost = recorded.summary().status in (RunStatus.LOST, RunStatus.RUNNING)
    judge = StepJudge(recorded, other, same or ByHash())
    search = _Search(judge, end_of(recorded, other), lost=lost, stopped=stopped)
    key = key or step_key
    for pair in pair_lanes(tree(met_steps(recorded.steps())), tree(met_steps(other.steps())), key, key):
        search.lanes(pair)
    return search.result(_run_end(recorded, other, judge) if not lost and not stopped else None)


def end_of(recorded: RunSource, other: RunSource) -> str:
    """That the judged run ended, in words; with the error that ended it and not the recorded one."""
    error, known = other.summary().error, recorded.summary().error
    if error is None or (known is not None and known.type == error.type):
        return "(the run ended)"
    return f"(the run ended with {error.type}{': ' if error.message else ''}{error.message})"


def _run_end(recorded: RunSource, other: RunSource, judge: StepJudge) -> Divergence | None:
    """A run may wait for a person, or end in another way or with another error, though each of its steps is alike."""
    left, right = recorded.summary(), other.summary()
    steps = recorded.steps()
    if not len(steps):
        return None
    at = steps[0] if steps[0].kind in ENCLOSING and len(steps) > 1 else steps[len(steps) - 1]
    if left.status is not right.status:
        return divergence(at, "run.status", left.status.value, right.status.value, "result")
    return None if left.error is None or right.error is None else judge.errors(at, "run.error", left.error, right.error)


def step_key(step: Step) -> tuple[Hashable, ...]:
    """What a step holds, by hash."""
    return (
        step.kind,
        step.name,
        step.input_hash,
        step.arguments.sha256 if step.arguments else None,
        step.status,
        step.result.sha256 if step.result else None,
    )


@dataclass(slots=True)
class _Found:
    """A difference and its place: position in the first run, then in its lane."""

    place: tuple[float, int]
    what: Divergence


@dataclass(slots=True)
class _Search:
    judge: StepJudge
    end: str
    lost: bool
    stopped: bool
    content: list[_Found] = field(default_factory=list)
    endings: list[_Found] = field(default_factory=list)
    missing: list[Step] = field(default_factory=list)
    unfinished: list[Step] = field(default_factory=list)
    pairs: list[StepPair] = field(default_factory=list)
    mates: dict[str, str] = field(default_factory=dict)
    agreed: int = 0

    def lanes(self, pair: LanePair) -> None:
        """Look at one pair of lanes up to its first difference."""
        left, right = pair
        if left is None or right is None:
            self._alone(left, right)
            return
        at = 0.0
        for place, (a, b) in enumerate(zip_longest(left.steps, right.steps)):
            at = float(a.n) if a is not None else at + 0.5
            what = self._step(a, b, left.steps)
            if what is not None:
                self.content.append(_Found((at, place), what))
                self._rest(left.steps[place:], right.steps[place:])
                return
            self.pairs.append((a, b))

    def result(self, status: Divergence | None) -> Comparison:
        """The earliest step whose own content differs; an enclosing step only when nothing inside it does."""
        chosen = self.content or self.endings
        first = min(chosen, key=lambda found: found.place, default=None)
        found = first.what if first is not None else None
        if found is None and not self.stopped:
            found = self._unended() or status
        complete = not self.missing and not self.unfinished
        return Comparison(
            found is None and complete,
            self.agreed,
            found,
            tuple(sorted(self.missing, key=lambda step: step.n)),
            tuple(self.unfinished),
            tuple(self.pairs),
        )

    def _step(self, a: Step | None, b: Step | None, lane: Sequence[Step]) -> Divergence | None:
        if a is None:
            return None if self.lost or b is None else divergence(b, "$", NO_STEP, called(b), "order")
        if b is None:
            if self.stopped or self.lost:
                self.missing.append(a)
                return None
            return divergence(a, "$", called(a), self.end, "order")
        found = self.judge.intent(a, b)
        if found is not None:
            return _left_out(a, b, lane) or found
        self.mates[a.id] = b.id
        if (self.mates.get(a.parent) if a.parent else None) != b.parent:
            return divergence(a, "parent", f"{a.depth} steps around it", f"{b.depth}, or others", "order")
        ending = self._outcome(a, b)
        if ending is None or a.kind not in ENCLOSING:
            return ending
        if self.stopped and b.status is not StepStatus.OK:
            return None  # it was unwound by the stop
        self.endings.append(_Found((-a.depth, a.n), ending))
        return None

    def _outcome(self, a: Step, b: Step) -> Divergence | None:
        if has_ended(a) and has_ended(b):
            found = self.judge.outcome(a, b)
            self.agreed += found is None
            return found
        if has_ended(a):
            self.unfinished.append(a)
        elif has_ended(b) and not self.lost:
            return divergence(a, "status", "no outcome", b.status.value, "result")
        else:
            self.agreed += 1
        return None

    def _alone(self, left: Lane | None, right: Lane | None) -> None:
        if left is not None:
            first = left.steps[0]
            self.missing.extend(left.steps)
            self.pairs.extend((step, None) for step in left.steps)
            if not self.stopped and not self.lost:
                what = divergence(first, "$", f"lane {left.name}: {called(first)}", "(never started)", "order")
                self.content.append(_Found((first.n, 0), what))
        if right is not None and not self.lost:
            first = right.steps[0]
            self.pairs.extend((None, step) for step in right.steps)
            what = divergence(first, "$", "(no such lane)", f"lane {right.name}: {called(first)}", "order")
            self.content.append(_Found((first.n, 0), what))

    def _rest(self, left: Sequence[Step], right: Sequence[Step]) -> None:
        """Pair what comes after a difference: calls with those that answered them, the others by kind and name."""
        free = {step.id: step for step in left}
        for step in right:
            served = step.attrs.get("served_from")
            alike = next((a for a in free.values() if (a.kind, a.name) == (step.kind, step.name)), None)
            mate = free.get(served) if isinstance(served, str) else alike
            self.pairs.append((mate, step))
            if mate is not None:
                del free[mate.id]
        self.missing.extend(free.values())
        self.pairs.extend((step, None) for step in free.values())

    def _unended(self) -> Divergence | None:
        last = min(self.unfinished, key=lambda step: (-step.depth, step.n), default=None)
        return None if last is None else divergence(last, "status", last.status.value, "no outcome", "result")


def _left_out(a: Step, b: Step, lane: Sequence[Step]) -> Divergence | None:
    """The second run went on to another recorded call: what differs is that ``a`` was left out."""
    served = b.attrs.get("served_from")
    if not isinstance(served, str) or served == a.id:
        return None
    recorded = next((step for step in lane if step.id == served), None)
    place = f"recorded as step {recorded.n}" if recorded is not None else "recorded in another lane"
    return divergence(a, "$", called(a), f"{called(b)} ({place})", "order")
