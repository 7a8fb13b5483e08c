"""A regression replay from the parent's side: control lane, samples, verdict.

The present code runs with the recorded arguments. Calls before the checkpoint are served, later ones are decided by
`policy`: models are called for real, what writes is not. See REPLAY.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentdbg.compare.trajectory import called
from agentdbg.compare.unseen import unseen_in
from agentdbg.model.records import Kind
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.child_process import Watch
from agentdbg.replay.edits import Edit
from agentdbg.replay.intents import Intent
from agentdbg.replay.moved_run import published_entry
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.pinned import Pin, tapes
from agentdbg.replay.placed import CodeRefused, placed
from agentdbg.replay.prefix import cut_before
from agentdbg.replay.publishing import publish
from agentdbg.replay.recorded_code import CannotRestore
from agentdbg.replay.regression_lane import Arrangement, Lane, Person, facts_of, run_lane
from agentdbg.replay.regression_verdict import Sample, judge_sample, with_lineage
from agentdbg.replay.restore import RESTORE, Restored, in_words
from agentdbg.replay.run import (
    ReplayOptions,
    ReplayRefused,
    Scratch,
    edited_at,
    never_started,
    obstacles_to,
    restored_at,
)
from agentdbg.replay.sandbox import Sandbox
from agentdbg.replay.spec import mapping
from agentdbg.replay.stability import Conclusion, conclusion_of, is_decided, stability_of
from agentdbg.replay.trust import is_trusted
from agentdbg.store.reader import DirectoryRunSource

_PLACEHOLDER = "⟦R:".encode()
FREE_EXITS = (
    "unaffected",
    "refused",
    "prefix_changed",
    "needs_data",
    "not_replayable",
    "aborted",
    "timed_out",
    "crashed",
)


@dataclass(frozen=True, slots=True)
class RegressionOptions:
    """What is asked of a regression replay.

    Attributes:
        replay: Guard, time, trust, what is tolerated, where the samples are published.
        start: Step from which on it is live; ``None``: from the first model input that differs.
        samples: How many are taken at most.
        sandbox: What may be done for real.
        person: Whom to ask; ``None``: nobody, approvals stay undecided and nothing external is done.
    """

    replay: ReplayOptions
    start: int | None = None
    samples: int = 1
    edits: tuple[Edit, ...] = ()
    pins: tuple[Pin, ...] = ()
    intents: tuple[Intent, ...] = ()
    sandbox: Sandbox | None = None
    person: Person | None = field(default=None, compare=False)


def regression(source: DirectoryRunSource, options: RegressionOptions, watch: Watch | None = None) -> Outcome:
    """Run the present code from a checkpoint on: the control lane, then samples until the verdict is decided.

    Raises:
        ReplayRefused: It must not be started.
        BadEdit: An edit cannot be made.
        BadPin: A record has no call of a pinned tool.
        NoSuchStep: There is no such step to start from.
    """
    source.index(None)
    if options.replay.is_elsewhere:
        return _elsewhere(source, options, watch)
    summary = source.summary()
    startable = any(mapping(mapping(summary.meta.get("entry")).get(name)) for name in ("callable", "launch"))
    if startable and not options.replay.trust and not is_trusted(source):
        raise ReplayRefused(
            f"run {summary.run_id} was not recorded by this user, so its code is not started; "
            "look at it with 'show', then say --trust"
        )
    if options.start is not None and (why := unsafe_start(source, options.start)):
        raise ReplayRefused(why)
    obstacles = obstacles_to(source)
    there = restored_for(source, options)
    tape = cassettes.build(source) if there is None else there.tape
    if obstacles or tape.missing:
        return _cannot(summary.run_id, obstacles, tape, options)
    return _Regression(source, arranged(source, tape, options, there), options, watch).outcome()


def _elsewhere(source: DirectoryRunSource, options: RegressionOptions, watch: Watch | None) -> Outcome:
    """On the recorded code, or on mapped paths."""
    replay = options.replay
    try:
        with placed(source, replay.code, replay.moves, trust=replay.trust) as there:
            found = regression(there.source, replace(options, replay=replay.in_place), watch)
            return replace(found, notes=(*there.notes, *found.notes))
    except CodeRefused as problem:
        raise ReplayRefused(str(problem)) from problem
    except CannotRestore as problem:
        words = f"the recorded code: {problem}"
        return Outcome(source.summary().run_id, "not_replayable", words, mode="regression", edits=_edits(options))


def restored_for(source: DirectoryRunSource, options: RegressionOptions) -> Restored | None:
    """The checkpoint that is restored, if one is.

    Raises:
        NoSuchStep: There is no such step.
        ReplayRefused: Its state cannot be restored there.
    """
    return restored_at(source, replace(options.replay, from_step=options.start or 0))


def _cannot(run_id: str, obstacles: Sequence[str], tape: Cassette, options: RegressionOptions) -> Outcome:
    missing = [f"body missing: {what}" for what in tape.missing]
    verdict = "not_replayable" if obstacles else "needs_data"
    first, *others = [*obstacles, *missing]
    return Outcome(
        run_id, verdict, first, notes=tuple(others), total=len(tape.calls), mode="regression", edits=_edits(options)
    )


def unsafe_start(source: DirectoryRunSource, start: int) -> str:
    """Why nothing may go on from a step: *can resume = no* refuses that, undeclared does not; empty where it may."""
    before = [step for step in source.steps() if step.kind is Kind.CHECKPOINT and step.n <= start]
    if not before or before[-1].attrs.get("can_resume") is not False:
        return ""
    reasons = before[-1].attrs.get("unsafe_reasons")
    words = "; ".join(map(str, reasons)) if isinstance(reasons, list) and reasons else "no reason is given"
    return (
        f"step {start} lies behind checkpoint {before[-1].name} (step {before[-1].n}), which declares that nothing "
        f"may go on from there: {words}; start earlier, or replay it --exact"
    )


def arranged(
    source: DirectoryRunSource, tape: Cassette, options: RegressionOptions, there: Restored | None
) -> Arrangement:
    """Edits made, pins read, the cut found.

    Raises:
        BadEdit: An edit cannot be made.
        BadPin: A record has no call of a pinned tool.
        NoSuchStep: There is no such step to start from.
    """
    there, edited = edited_at(source, tape, there, options.edits, exact=False)
    facts = facts_of(source, tape)
    pins = tapes(source, edited.tape, options.pins)
    prefix = None if options.start is None else cut_before(source, options.start, tape.calls).calls
    return Arrangement(
        edited.tape,
        prefix if there is None else there.calls_ahead(),
        facts,
        edited.steps,
        edited.arguments,
        pins,
        options.sandbox,
        options.person,
        there,
        edited.calls,
    )


def _edits(options: RegressionOptions) -> tuple[Mapping[str, object], ...]:
    return tuple(edit.members() for edit in options.edits)


class _Regression:
    def __init__(
        self, source: DirectoryRunSource, arrangement: Arrangement, options: RegressionOptions, watch: Watch | None
    ) -> None:
        self._source, self._plan, self._options, self._watch = source, arrangement, options, watch
        there = arrangement.restored
        self._seen = source if there is None else there.source
        self._wanted = conclusion_of(self._seen)
        self._touched: tuple[Mapping[str, object], ...] = ()
        self._published: list[str] = []

    def outcome(self) -> Outcome:
        """Everything there is to say."""
        found = self._control()
        if found is None:
            found = self._sampled()
        uncovered = tuple(each.members() for each in unseen_in(self._seen) if each.uncovered)
        return replace(found, uncovered=uncovered)

    # -- lanes ------------------------------------------------------------------------------------

    def _control(self) -> Outcome | None:
        """The control lane; its outcome is that of the replay when nothing goes live anyway."""
        with Scratch() as scratch:
            watch = self._watch
            lane = run_lane(self._source, self._plan, self._options.replay, scratch, control=True, watch=watch)
            if lane.made is None:
                return self._never_started(lane)
            if lane.report.first("aborted"):
                return self._publish(lane, self._judged(lane), {})
            self._touched = tuple(self._touches(lane))
            goes_on = self._plan.prefix is not None or self._plan.calls or _wants_to_hold(watch)
            by_itself = not goes_on and not lane.report.first("control_ends") and not self._touched
            if not by_itself or lane.report.first("done") is None or lane.report.all("ruled"):
                return None
            sample = self._judged(lane)
            if sample.outcome.verdict != "unaffected":
                return None  # the program differs where no model input does: look at it with the policy in force
            return self._publish(lane, sample, {})

    def _sampled(self) -> Outcome:
        samples: list[Sample] = []
        outcomes: list[Outcome] = []
        while True:
            with Scratch() as scratch:
                lane = run_lane(
                    self._source, self._plan, self._options.replay, scratch, control=False, watch=self._watch
                )
                if lane.made is None:
                    return self._summed_up([*outcomes, self._never_started(lane)], _conclusions(samples))
                sample = self._judged(lane)
                samples.append(sample)
                outcomes.append(self._publish(lane, sample, {}))
            conclusions = _conclusions(samples)
            if sample.final or sample.conclusion is None or is_decided(conclusions, self._options.samples):
                return self._summed_up(outcomes, conclusions)

    def _judged(self, lane: Lane) -> Sample:
        made = lane.made
        assert made is not None
        sample = judge_sample(
            self._seen,
            made,
            lane.report,
            self._wanted,
            from_step=self._options.start,
            total=len(self._plan.tape.calls),
            intents=self._options.intents,
        )
        notes = (*sample.outcome.notes, *lane.problems, *self._redacted(sample))
        if there := self._plan.restored:
            sample = replace(sample, outcome=in_words(sample.outcome, RESTORE, there.number))
            notes = (*notes, *there.notes)
        name = self._options.sandbox.name if self._options.sandbox is not None else None
        edits = (*_edits(self._options), *sample.outcome.edits)
        return with_lineage(sample, edits=edits, touched=self._touched, notes=notes, sandbox=name)

    def _redacted(self, sample: Sample) -> list[str]:
        """What a live model or tool got was made of placeholders, as far as it came from the record."""
        count = sum(1 for body in self._plan.tape.bodies.values() if _PLACEHOLDER in body)
        if not count or not sample.outcome.live:
            return []
        return [f"{count} served values are redacted: what is live got the placeholders"]

    def _never_started(self, lane: Lane) -> Outcome:
        found = never_started(self._source.summary().run_id, lane.report, len(self._plan.tape.calls))
        return replace(found, mode="regression", edits=_edits(self._options), touched=self._touched)

    def _touches(self, lane: Lane) -> list[Mapping[str, object]]:
        """The model inputs that the present code changes, as far as the control lane came."""
        found: list[Mapping[str, object]] = []
        if lane.made is None:
            return found
        replayed = DirectoryRunSource(lane.made)
        replayed.index(None)
        try:
            found += [_touch(self._source, replayed, message) for message in lane.report.all("touched")]
            if ends := lane.report.first("control_ends"):
                step = replayed.step_by_id(str(ends.get("step")))
                found += [{"step": None, "name": called(step), "cause": "order"}] if step is not None else []
        finally:
            replayed.close()
        return found

    # -- outcomes ---------------------------------------------------------------------------------

    def _publish(self, lane: Lane, sample: Sample, more: Mapping[str, Any]) -> Outcome:
        assert lane.made is not None
        outcome = replace(sample.outcome, **more)
        entry = published_entry(self._source)
        store = self._options.replay.store
        published, place = publish(lane.made, store, outcome, entry, self._options.replay.tags)
        notes = outcome.notes
        if str(place) != store.location():
            notes = (*notes, f"{store.location()} cannot be written: see {place}")
        members = self._members(replace(outcome, replay_run=published), sample.conclusion)
        return replace(outcome, replay_run=published, notes=notes, samples=(members,), store=str(place))

    def _members(self, outcome: Outcome, conclusion: Conclusion | None) -> dict[str, object]:
        counts = {"served": outcome.served, "live": outcome.live, "dry_run": outcome.dry_run}
        return {
            "replay_run": outcome.replay_run,
            "verdict": outcome.verdict,
            "reason": outcome.reason,
            **(conclusion.members() if conclusion is not None else {}),
            "counts": {**counts, "refused": outcome.denied + len(outcome.refused)},
        }

    def _summed_up(self, outcomes: Sequence[Outcome], conclusions: Sequence[Conclusion]) -> Outcome:
        """One outcome of all samples: the first one's, unless a later one ended otherwise or disagrees."""
        stopped = next((each for each in outcomes if each.verdict in FREE_EXITS), None)
        chosen = stopped or outcomes[0]
        stability = stability_of(conclusions)
        verdict, reason = chosen.verdict, chosen.reason
        if stopped is None and stability.agree < stability.of:
            other = next(each for each in conclusions[1:] if not each.same_as(conclusions[0]))
            verdict, reason = "flaky", f"samples disagree, {stability}: {conclusions[0].unlike(other)}"
        samples = tuple(member for each in outcomes for member in each.samples)
        notes = tuple(dict.fromkeys(note for each in outcomes for note in each.notes))
        return replace(
            chosen,
            verdict=verdict,
            reason=reason,
            samples=samples,
            notes=notes,
            stability=str(stability) if conclusions and verdict != "needs_data" else None,
            live=sum(each.live for each in outcomes),
            dry_run=sum(each.dry_run for each in outcomes),
            denied=sum(each.denied for each in outcomes),
            drift=_distinct([item for each in outcomes for item in each.drift]),
            findings=_distinct([item for each in outcomes for item in each.findings]),
            edits=_distinct([item for each in outcomes for item in each.edits]),
            inspected=sum(each.inspected for each in outcomes),
        )


def _wants_to_hold(watch: Watch | None) -> bool:
    """Whether somebody wants to stop in it: then it is not over with the control lane, which nobody can hold."""
    return watch is not None and any(watch.settings().get(name) for name in ("pause", "target", "stops"))


def _conclusions(samples: Sequence[Sample]) -> list[Conclusion]:
    return [each.conclusion for each in samples if each.conclusion is not None]


def _touch(recorded: DirectoryRunSource, replayed: DirectoryRunSource, message: Mapping[str, Any]) -> dict[str, object]:
    from agentdbg.compare.step_difference import ByHash, StepJudge

    a, b = recorded.step_by_id(str(message.get("recorded"))), replayed.step_by_id(str(message.get("step")))
    if a is None or b is None:
        return {"step": None, "name": message.get("name"), "cause": "order"}
    at = StepJudge(recorded, replayed, ByHash()).intent(a, b)
    about: dict[str, object] = {"step": a.n, "name": a.name, "cause": at.cause if at is not None else "order"}
    return {**about, **({"path": at.path, "expected": at.expected, "got": at.got} if at is not None else {})}


def _distinct(items: Sequence[Mapping[str, object]]) -> tuple[Mapping[str, object], ...]:
    kept: dict[str, Mapping[str, object]] = {}
    for item in items:
        kept.setdefault(repr({key: value for key, value in item.items() if key not in ("replayed",)}), item)
    return tuple(kept.values())


__all__ = ["RegressionOptions", "regression"]
