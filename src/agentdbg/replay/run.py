"""An exact replay from the parent's side: plan, child process, verdict, and the replay published as a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from agentdbg.compare.unseen import unseen_in
from agentdbg.model.records import Json, RunStatus
from agentdbg.redaction.gate import Gate
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.child_process import ChildReport, ControlPair, Watch, run_child
from agentdbg.replay.child_start import child_command
from agentdbg.replay.cleaning import cleaned
from agentdbg.replay.container.box import CHANNEL, Box
from agentdbg.replay.container.wishes import box_for, members, variables
from agentdbg.replay.descent import Descent, under_guard
from agentdbg.replay.edited_record import EditedRecord
from agentdbg.replay.edited_record import in_words as edited_in_words
from agentdbg.replay.edits import Edit, Edited, apply, gated
from agentdbg.replay.moved_run import published_entry
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.placed import CURRENT, CodeRefused, placed
from agentdbg.replay.prefix import NoSuchStep
from agentdbg.replay.publishing import publish
from agentdbg.replay.recorded_code import CannotRestore
from agentdbg.replay.restore import FAST_FORWARD, RESTORE, CannotResume, Restored, in_words, restored, with_edits
from agentdbg.replay.scratch import Scratch as Scratch
from agentdbg.replay.spec import (
    child_environment,
    interpreter,
    interpreter_options,
    mapping,
    working_directory,
    write_spec,
)
from agentdbg.replay.start_state import StartState, start_state
from agentdbg.replay.trust import is_trusted
from agentdbg.replay.verdict import judge
from agentdbg.store.files import StoreError
from agentdbg.store.journal import ref_from
from agentdbg.store.protocols import BodyMissing, RunStore
from agentdbg.store.reader import DirectoryRunSource

NO_ENTRY = (
    "the record has no entry point: no @agentdbg.agent call was its root, and it was not started by 'agentdbg record'"
)
LISTED = 50
NO_BOX = "the container does not hold a replay ({reason}), so nothing was run"


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What is asked of a replay.

    Attributes:
        guard: ``audit``: the audit hook alone. ``auto``: the kernel's layers too, or nothing is run.
        timeout: Seconds after which the child is ended.
        trust: Run code that this user did not record without asking.
        tolerate: Ambient effects that stay blocked but are no refusal: patterns over ``event detail``.
        store: Where the replay is published.
        code: ``current``: the code as it is now. ``recorded``: commit, difference and untracked files of the record.
        moves: Beginnings of recorded paths, or ``{root}`` and the like, each with what stands there on this machine.
        env: Further variables for the child; they are not recorded.
        tags: Tags that the replay gets.
        from_step: Step from which on the replay is looked at; 0: all of it.
        prefix: Way to there: ``fast-forward`` (served) or ``restore`` (from the checkpoint's state).
        image: Container image that an exact replay is run in; empty: none.
        engine: Container engine; empty: the first one that answers.
        edits: Recorded values that an exact replay goes on from in edited form.
        reads: Requests that change nothing whatever their method, for a regression: patterns over ``POST host/path``.
    """

    guard: str
    timeout: float
    trust: bool
    tolerate: Sequence[str]
    store: RunStore
    code: str = CURRENT
    moves: Sequence[tuple[str, str]] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    from_step: int = 0
    prefix: str = FAST_FORWARD
    image: str = ""
    engine: str = ""
    edits: tuple[Edit, ...] = ()
    reads: Sequence[str] = ()

    @property
    def is_elsewhere(self) -> bool:
        """Whether the program is not run where it was recorded."""
        return self.code != CURRENT or bool(self.moves)

    @property
    def in_place(self) -> ReplayOptions:
        """The same for a run that has been put in its place."""
        return replace(self, code=CURRENT, moves=())


def no_kernel_guard(reason: str, *, exact: bool = True) -> str:
    """Why nothing was run, and what can be said instead on this platform."""
    instead = "say --guard audit to run under the audit hook alone"
    container = ", or --in IMAGE to run it in a container" if exact and sys.platform != "win32" else ""
    return f"the kernel does not hold a replay here ({reason}), so nothing was run: {instead}{container}"


class ReplayRefused(Exception):
    """Nothing was run, for safety; the message says why and what to do."""


class NotReplayable(Exception):
    """The record does not support an exact replay; the message says why."""


def _exact_elsewhere(source: DirectoryRunSource, options: ReplayOptions, watch: Watch | None) -> Outcome:
    try:
        with placed(source, options.code, options.moves, trust=options.trust) as there:
            found = exact(there.source, options.in_place, watch)
            return replace(found, notes=(*there.notes, *found.notes))
    except CodeRefused as problem:
        raise ReplayRefused(str(problem)) from problem
    except CannotRestore as problem:
        return Outcome(source.summary().run_id, "not_replayable", f"the recorded code: {problem}")


def exact(source: DirectoryRunSource, options: ReplayOptions, watch: Watch | None = None) -> Outcome:
    """Run the agent's own code again with everything served from the record; ``watch`` follows it.

    Raises:
        ReplayRefused: It must not be started.
        NoContainer: The container that was asked for cannot be had.
        BadEdit: An edit cannot be made.
    """
    source.index(None)
    if options.is_elsewhere:
        return _exact_elsewhere(source, options, watch)
    summary = source.summary()
    startable = any(mapping(mapping(summary.meta.get("entry")).get(name)) for name in ("callable", "launch"))
    if startable and not options.trust and not is_trusted(source):
        raise ReplayRefused(
            f"run {summary.run_id} was not recorded by this user, so its code is not started; "
            "look at it with 'show', then say --trust"
        )
    obstacles = obstacles_to(source)
    there = restored_at(source, options)
    tape = there.tape if there is not None else _tape(source)
    obstacles += [f"body missing: {what}" for what in tape.missing]
    edits = tuple(edit.members() for edit in options.edits)
    if obstacles:
        others, total = tuple(obstacles[1:]), len(tape.calls)
        return Outcome(summary.run_id, "not_replayable", obstacles[0], notes=others, total=total, edits=edits)
    there, edited = edited_at(source, tape, there, options.edits, exact=True)
    with Scratch() as scratch:
        found = _replay(source, edited, options, scratch, watch, there)
    seen = source if there is None else there.source
    uncovered = tuple(each.members() for each in unseen_in(seen) if each.uncovered)
    return replace(found, uncovered=uncovered, edits=found.edits or edits, notes=(*damage(source), *found.notes))


def check_edits(source: DirectoryRunSource, options: ReplayOptions) -> None:
    """Whether the edits of an exact replay can be made.

    Raises:
        BadEdit: One of them cannot be made.
        NoSuchStep: There is no such step to start from.
        ReplayRefused: The state cannot be restored there.
    """
    if options.edits and not options.is_elsewhere:
        source.index(None)
        there = restored_at(source, options)
        tape = cassettes.build(source) if there is None else there.tape
        edited_at(source, tape, there, options.edits, exact=True)


def edited_at(
    source: DirectoryRunSource, tape: cassettes.Cassette, there: Restored | None, edits: Sequence[Edit], *, exact: bool
) -> tuple[Restored | None, Edited]:
    """What is served, and the state that is restored, with the edits made.

    Raises:
        BadEdit: One of them cannot be made.
    """
    left = gated(source, edits)
    if there is not None:
        there, left = with_edits(there, left)
    return there, apply(source, tape, left, exact=exact)


def restored_at(source: DirectoryRunSource, options: ReplayOptions) -> Restored | None:
    """The run from the wanted checkpoint on; ``None`` where it is to run from its start.

    Raises:
        NoSuchStep: There is no such step.
        ReplayRefused: Its state cannot be restored there.
    """
    if options.prefix != RESTORE:
        if options.from_step > len(source.steps()):
            most, run_id = len(source.steps()), source.summary().run_id
            raise NoSuchStep(f"run {run_id} has no step {options.from_step}: it has steps 1 to {most}")
        return None
    try:
        return restored(source, options.from_step)
    except CannotResume as problem:
        raise ReplayRefused(str(problem)) from problem


def _tape(source: DirectoryRunSource) -> cassettes.Cassette:
    source.index(None)
    return cassettes.build(source)


def obstacles_to(source: DirectoryRunSource) -> list[str]:
    """Why a record cannot be replayed at all, one line each."""
    summary = source.summary()
    entry = mapping(summary.meta.get("entry"))
    made = mapping(summary.meta.get("outcome"))
    if made.get("prefix") == RESTORE:
        whole, number = made.get("source_run"), made.get("from_step")
        return [f"it was restored at step {number} of run {whole} and has nothing of before: replay that one"]
    found = [str(reason) for reason in cast("list[Json]", entry.get("not_replayable") or [])]
    if not mapping(entry.get("callable")):
        if not mapping(entry.get("launch")) and not found:
            found.append(NO_ENTRY)
    elif "<locals>" in str(mapping(entry.get("callable")).get("qualname")):
        found.append("the recorded agent is a local function, which cannot be called again")
    found += _unreadable_arguments(source, entry)
    for step in cassettes.served_steps(source.steps()):
        if step.is_call:
            found += [f"step {step.n} ({step.name}): {hole}" for hole in step.holes if "not replayable" in hole]
    return found


def damage(source: DirectoryRunSource) -> Iterator[str]:
    """What of a record cannot be read, so that calls may seem to be missing; one line each."""
    yield from (f"the record is damaged: {problem}" for problem in source.problems())
    begun, there = source.summary().meta.get("steps"), len(source.steps())
    if isinstance(begun, int) and there < begun and source.summary().status not in (RunStatus.RUNNING, RunStatus.LOST):
        yield f"the record is damaged: {there} of {begun} steps are in it"


def _unreadable_arguments(source: DirectoryRunSource, entry: Mapping[str, Json]) -> list[str]:
    ref = ref_from(entry.get("args"))
    try:
        if ref is not None:
            source.body(ref)
    except (BodyMissing, StoreError) as problem:
        return [f"the agent's arguments cannot be read: {problem}"]
    return []


def _replay(
    source: DirectoryRunSource,
    edited: Edited,
    options: ReplayOptions,
    scratch: Path,
    watch: Watch | None,
    there: Restored | None,
) -> Outcome:
    summary, tape = source.summary(), edited.tape
    run_id = f"{summary.run_id[:100]}.exact"
    cassettes.write(tape, str(scratch / "cassette"))
    cwd = working_directory(source, scratch)
    start = start_state(source, cwd, scratch) if options.guard != "audit" else None
    box = box_for(source, options.image, options.engine, start, cwd, scratch) if options.image and start else None
    with Descent(source, scratch, apart=there is not None or box is not None) as processes, ControlPair() as control:
        spec = write_spec(
            source,
            scratch,
            run_id,
            tolerate=options.tolerate,
            control_fd=control.theirs.fileno() if box is None else CHANNEL,
            start=start,
            control=None if watch is None else watch.settings(),
            restore=None if there is None else there.spec(scratch),
            box=None if box is None else members(box),
            processes=processes,
        )
        if edited.arguments is not None:
            (scratch / "arguments").write_bytes(edited.arguments)
        if watch is not None:
            watch.attached(control, scratch / "store" / "runs" / run_id)
        report = _run_child(source, spec, options, control, watch, box)
    if problem := report.first("no_kernel"):
        reason = str(problem.get("reason"))
        raise ReplayRefused(no_kernel_guard(reason) if box is None else NO_BOX.format(reason=reason))
    report, made = cleaned(report, Gate(enabled=bool(spec["redacting"]))), scratch / "store" / "runs" / run_id
    if not made.is_dir():
        found = never_started(summary.run_id, report, len(tape.calls))
        return found if box is None else replace(found, notes=(*found.notes, *box.notes))
    seen = source if there is None else there.source
    outcome = judge(EditedRecord(seen, edited) if options.edits else seen, made, tape, report)
    outcome = _noted(outcome, options, there, start, box)
    outcome = replace(outcome, edits=(*(edit.members() for edit in options.edits), *outcome.edits))
    published, place = publish(made, options.store, outcome, published_entry(source), options.tags)
    if str(place) != options.store.location():
        outcome = replace(outcome, notes=(*outcome.notes, f"{options.store.location()} cannot be written: see {place}"))
    return replace(outcome, replay_run=published, store=str(place))


def _run_child(
    source: DirectoryRunSource,
    spec: Mapping[str, object],
    options: ReplayOptions,
    control: ControlPair,
    watch: Watch | None,
    box: Box | None,
) -> ChildReport:
    scratch, cwd = Path(str(spec["scratch"])), str(spec["cwd"])
    given = interpreter_options(mapping(source.summary().meta.get("entry")))
    python, shared = interpreter(source), cast("Mapping[str, object] | None", spec["processes"])
    command = child_command(python, given, scratch / "spec.json")
    env = {**child_environment(source, spec, scratch), **options.env}
    if box is not None:
        box.prepare(command[1:], cwd, {**env, **variables(scratch)}, options.tolerate)
    report = run_child(
        command,
        control,
        cwd=cwd,
        env=env,
        timeout=options.timeout,
        tolerate=options.tolerate,
        watch=watch,
        starter=box,
        processes=under_guard(python, shared, scratch),
    )
    if box is not None:
        box.finish(report)
    return report


def _noted(
    outcome: Outcome, options: ReplayOptions, there: Restored | None, start: StartState | None, box: Box | None
) -> Outcome:
    """With what is to be said of where the replay began, and from what."""
    reason = edited_in_words(options.edits, outcome.reason, identical=outcome.verdict == "identical")
    outcome = replace(outcome, reason=reason)
    if options.from_step:
        outcome = in_words(outcome, options.prefix, options.from_step)
    notes = () if there is None else tuple(there.notes)
    problems = () if start is None else start.problems
    held = () if box is None else box.notes
    return replace(outcome, notes=(*outcome.notes, *notes, *problems, *held))


def never_started(run_id: str, report: ChildReport, total: int) -> Outcome:
    """The outcome of a child that did not come as far as the agent."""
    outcome = Outcome(run_id, "crashed", "", total=total, guard=report.layers(), log=report.log)
    if refused := tuple(report.all("refused")):
        first = refused[0]
        reason = f"{first.get('effect')} {first.get('detail')} at {first.get('frame')}, before the agent started"
        return replace(outcome, verdict="refused", reason=reason, refused=refused)
    if failed := report.first("cannot_start"):
        return replace(outcome, verdict="not_replayable", reason=str(failed.get("reason")))
    if report.first("aborted"):
        return replace(outcome, verdict="aborted", reason="stopped by a person before the agent started")
    if report.timed_out:
        return replace(outcome, verdict="timed_out", reason="the program did not reach the agent in time")
    return replace(outcome, reason=f"the child {report.ending()} before the agent started")
