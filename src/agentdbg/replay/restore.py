"""A run from one of its checkpoints on: whether its state can be restored, and the record without what was before.

What identity needs at a checkpoint follows from the record's order: calls with an outcome before it are consumed, and
so are the values drawn before it, which are written ahead of the lane's next event.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentdbg.compare.step_difference import has_ended
from agentdbg.compare.unseen import unseen_in
from agentdbg.model.canonical import loads
from agentdbg.model.records import Effect, Json, Kind, Step
from agentdbg.recording.scope import FIRST_INSIDE
from agentdbg.replay import cassette as cassettes
from agentdbg.replay import seeds
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.edits import BadEdit, Edit, edited_state
from agentdbg.replay.from_checkpoint import FromCheckpoint, moment_of
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.prefix import NoSuchStep, moments
from agentdbg.replay.spec import mapping
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource

FAST_FORWARD, RESTORE = "fast-forward", "restore"
SKIP, SKIPPED = "skip", "before the restored checkpoint: it is not made again"
_COUNTED = ("intent", "outcome", "step")
_LISTED = 12
_ROOT_LANE = "0"


class CannotResume(Exception):
    """The state cannot be restored there; the message says why."""


@dataclass(frozen=True, slots=True)
class Restored:
    """Attributes:
    source: The record from the checkpoint on.
    tape: What is served from there on.
    state: The state's body.
    node: Name of the checkpoint.
    started_at: When it was made.
    lane: Number of the first lane that is forked behind it, and of events in the root lane before it.
    skipped: Calls that are not made again.
    notes: What is not as it was at the checkpoint.
    seed: What a graph of LangGraph goes on from; ``None``: the agent's resume entry is called with the state.
    before: The state that was recorded, where ``state`` was edited.
    """

    source: FromCheckpoint
    tape: Cassette
    state: bytes
    node: str
    started_at: float
    lane: tuple[int, int]
    skipped: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    seed: seeds.Seed | None = None
    before: bytes | None = None

    @property
    def number(self) -> int:
        """Number of the checkpoint's step."""
        return self.source.number

    def spec(self, scratch: Path) -> dict[str, object]:
        """What the child is told; the state is written for it."""
        first, events = self.lane
        if self.seed is not None:
            edited = None if self.before is None else seeds.edited_values(self.before, self.state)
            told = self.seed.spec(self.source.whole, scratch, edited)
            draws = cassettes.draws_in(self.source.skipped_draws())
            (scratch / "skipped-draws").write_text(json.dumps(draws), encoding="utf-8")
            told["draws"] = str(scratch / "skipped-draws")
            at = self.source.since / 1e9
            return {**told, "first_lane": first, "events": events, "at": at, "started_at": self.started_at}
        place = scratch / "state"
        place.write_bytes(self.state)
        told = {"state": str(place), "node": self.node, "first_lane": first, "events": events}
        return {**told, "started_at": self.started_at}

    def calls_ahead(self) -> frozenset[str]:
        """Ids of the calls that lead to the one that goes on: they are served in a regression replay too."""
        found = ((self.source.step_by_id(call.step), call.step) for call in self.tape.calls)
        return frozenset(step_id for step, step_id in found if step is not None and step.n < self.number)


def restored(source: DirectoryRunSource, number: int) -> Restored:
    """The run from checkpoint ``number`` on.

    Raises:
        CannotResume: It cannot be restored there; the message has every reason.
        NoSuchStep: There is no such step.
    """
    step = checkpoint_at(source, number)
    if reasons := refusals(source, step):
        raise CannotResume(
            f"the state of checkpoint {step.name} (step {step.n}) cannot be restored: {'; '.join(reasons)}"
        )
    seed = seeds.seed_of(source, step) if seeds.is_graphs(step) else None
    inside = source.steps()[0] if seed is None else seed.graph
    view = FromCheckpoint(source, step, inside)
    tape = replace(cassettes.build(view), surrogates=tuple(cassettes.surrogates_of(source)), handoffs=())
    assert step.arguments is not None
    served = {call.step for call in tape.calls}
    skipped = [each for each in cassettes.served_steps(source.steps()) if each.is_call and each.id not in served]
    return Restored(
        source=view,
        tape=tape,
        state=source.body(step.arguments),
        node=step.name,
        started_at=step.started_at if seed is None else source.summary().started_at or step.started_at,
        lane=_lane(source, step),
        skipped=tuple(skipped),
        notes=tuple(_left_behind(source, step)),
        seed=seed,
    )


def with_edits(there: Restored, edits: Sequence[Edit]) -> tuple[Restored, list[Edit]]:
    """The checkpoint with its state edited, and the other edits.

    Raises:
        BadEdit: One is of a step before it, or cannot be made.
    """
    others: list[Edit] = []
    for edit in edits:
        if edit.step == there.number and edit.path.startswith("state"):
            there = replace(there, state=edited_state(edit, there.state), before=there.before or there.state)
        elif not there.source.is_made_again(edit.step):
            raise BadEdit(f"{edit.words()}: that is not met again, the run is restored at step {there.number}")
        else:
            others.append(edit)
    return there, others


def checkpoint_at(source: DirectoryRunSource, number: int) -> Step:
    """The checkpoint with that step number.

    Raises:
        CannotResume: The step is none.
        NoSuchStep: There is no such step.
    """
    steps = source.steps()
    if not 1 <= number <= len(steps):
        raise NoSuchStep(f"run {source.summary().run_id} has no step {number}: it has steps 1 to {len(steps)}")
    step = steps[number - 1]
    if step.kind is not Kind.CHECKPOINT:
        there = [str(each.n) for each in steps if each.kind is Kind.CHECKPOINT]
        listed = ", ".join(there[:_LISTED]) + (", …" if len(there) > _LISTED else "")
        has = f"checkpoints are steps {listed}" if there else "the run has none"
        raise CannotResume(f"step {number} is no checkpoint but {step.kind.value} {step.name}: {has}")
    return step


def refusals(source: DirectoryRunSource, checkpoint: Step) -> list[str]:
    """Why a run cannot be restored at a checkpoint, each reason; empty when it can."""
    if seeds.is_graphs(checkpoint):
        there = list(seeds.refusals(source, checkpoint))
        decodable = [] if seeds.has_seed(source, checkpoint) else [*_undecodable(source, checkpoint)]
        return [*undeclared(checkpoint), *there, *decodable, *_not_alone(source, checkpoint)]
    return [
        *undeclared(checkpoint),
        *_no_entry(source),
        *_undecodable(source, checkpoint),
        *_not_alone(source, checkpoint),
    ]


def in_words(outcome: Outcome, prefix: str, number: int) -> Outcome:
    """The outcome of a replay from a step on, saying what of the run it is about."""
    found = replace(outcome, from_step=number)
    if prefix == RESTORE:
        found = replace(found, restored=True)
        if outcome.verdict == "identical":
            reason = outcome.reason.replace("identical", f"identical from step {number}, restored", 1)
            return replace(found, reason=f"{reason}; what was before is not compared")
        return replace(found, reason=f"restored at step {number}: {outcome.reason}")
    at = outcome.first_divergence
    if outcome.verdict == "identical":
        return replace(found, reason=f"{outcome.reason}; looked at from step {number} on, fast-forwarded to there")
    if at is not None and at.step < number:
        return replace(found, reason=f"on the way to step {number}, where all has to agree: {outcome.reason}")
    return found


def undeclared(checkpoint: Step) -> Iterator[str]:
    """What a checkpoint says, or does not say, of going on from it."""
    declared = checkpoint.attrs.get("can_resume")
    if declared is False:
        reasons = checkpoint.attrs.get("unsafe_reasons")
        words = "; ".join(map(str, reasons)) if isinstance(reasons, list) and reasons else "no reason is given"
        yield f"it declares that nothing may go on from there ({words})"
    elif declared is not True and seeds.is_graphs(checkpoint):
        yield seeds.HOW
    elif declared is not True:
        yield "it does not declare that a run may go on from there (agentdbg.checkpoint(…, can_resume=True))"


def _no_entry(source: DirectoryRunSource) -> Iterator[str]:
    entry = mapping(source.summary().meta.get("entry"))
    if not mapping(entry.get("callable")):
        yield "the run was started as a program, and only an agent's function has a resume entry"
    elif not isinstance(entry.get("resume"), str):
        yield "the agent had no resume entry when it was recorded (@agentdbg.agent(resume=…))"


def _undecodable(source: DirectoryRunSource, checkpoint: Step) -> Iterator[str]:
    if checkpoint.arguments is None:
        yield "its state was not recorded"
        return
    try:
        state = loads(source.body(checkpoint.arguments))
    except BodyMissing as problem:
        yield f"its state cannot be read: {problem}"
    except ValueError as problem:
        yield f"its state cannot be decoded: {problem}"
    else:
        holes = list(checkpoint.holes) or list(seeds.unknown(state, "$"))
        if holes:
            yield f"its state cannot be decoded: {'; '.join(holes)}"


def _not_alone(source: DirectoryRunSource, checkpoint: Step) -> Iterator[str]:
    """What was under way when the checkpoint was made, and so cannot be gone on with."""
    steps = source.steps()
    root, at = steps[0], moments(source, checkpoint)[0]
    if _lane_of(source, checkpoint) != _ROOT_LANE or _writer(checkpoint) != _writer(root):
        yield f"it was made in a parallel section, lane {checkpoint.lane}"
    elif checkpoint.parent != root.id and not seeds.is_graphs(checkpoint):
        around = source.step_by_id(checkpoint.parent or "")
        yield f"it was made inside step {around.n} ({around.name})" if around else "it was made outside the agent"
    around_it = seeds.around(source, checkpoint)
    seen: dict[tuple[str, str], bool] = {}
    reported: set[tuple[str, str]] = set()
    counted = _events_before(source, checkpoint)
    for step in cassettes.served_steps(steps):
        if step.id in (root.id, checkpoint.id) or step.kind is Kind.EFFECT:
            continue
        place = (_writer(step), _lane_of(source, step))
        times = moments(source, step)
        before = times[0] < at
        seen.setdefault(place, before)
        if before and not (has_ended(step) and times[-1] < at) and step.id not in around_it:
            writes = step.kind in (Kind.TOOL, Kind.HTTP) and step.effect in (Effect.WRITE, Effect.EXTERNAL)
            what = "an open write" if writes else f"an open {step.kind.value}"
            yield f"step {step.n} ({step.name}) had no outcome yet: {what}"
        elif not before and place != (_writer(root), _ROOT_LANE) and place not in reported:
            reported.add(place)
            above = (place[0], ".".join(place[1].split(".")[:2]))
            if seen[place] or seen.get(above) or _forked_before(source, step, counted):
                yield f"lane {step.lane} was open, and goes on at step {step.n} ({step.name})"
    began = moments(source, source.step_by_id(checkpoint.parent or "") or root)[0]
    if any(began < moment_of(event.members) < at for event in source.extra_events("stdin")):
        yield "the agent had read from standard input before it"


def _forked_before(source: DirectoryRunSource, step: Step, counted: int) -> bool:
    """Whether a lane that shows first behind the checkpoint was there before it."""
    forked = step.attrs.get("fork")
    direct = _lane_of(source, step).count(".") == 1
    return direct and isinstance(forked, int) and forked < counted


def _events_before(source: DirectoryRunSource, checkpoint: Step) -> int:
    """How many events the root lane had with the checkpoint: lanes forked later carry at least that number."""
    return _lane(source, checkpoint)[1]


def _lane(source: DirectoryRunSource, checkpoint: Step) -> tuple[int, int]:
    """Number of the first lane forked behind a checkpoint, and of events in the root lane up to it."""
    at = moments(source, checkpoint)[0]
    events, before, after = 0, -1, FIRST_INSIDE
    for step in cassettes.served_steps(source.steps()):
        if step.kind is Kind.EFFECT:  # no event of the lane's: a replay makes none
            continue
        lane = _lane_of(source, step)
        if lane == _ROOT_LANE and _writer(step) == _writer(checkpoint):
            records = [json.loads(line) for line in source.events(step)]
            events += sum(1 for each in records if each.get("e") in _COUNTED and moment_of(each) <= at)
        elif lane.startswith("0.") and (number := int(lane.split(".")[1])) < FIRST_INSIDE:
            if moments(source, step)[0] < at:
                before = max(before, number)
            else:
                after = min(after, number)
    return (after if after < FIRST_INSIDE else before + 1), events


def _left_behind(source: DirectoryRunSource, checkpoint: Step) -> Iterator[str]:
    """What the program did before the checkpoint past every seam: a restored run finds the world without it."""
    for effect in unseen_in(source):
        if effect.uncovered and effect.step.n < checkpoint.n:
            yield f"not restored: step {effect.step.n}: {effect.what} ({effect.place})"


def _first_event(source: DirectoryRunSource, step: Step) -> Mapping[str, Json]:
    lines = source.events(step)
    return mapping(json.loads(lines[0])) if lines else {}


def _lane_of(source: DirectoryRunSource, step: Step) -> str:
    """The lane's path as recorded: a step's own is numbered for people."""
    return str(_first_event(source, step).get("lane", _ROOT_LANE))


def _writer(step: Step) -> str:
    return step.id.partition(":")[0]
