"""What a replay will do, as data: what stands in the way, then one row for each recorded call. Runs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from agentdbg.compare.unseen import unseen_in
from agentdbg.model.records import Json, Step
from agentdbg.replay import cassette as cassettes
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.container.engines import NoContainer, find_engine, image_of
from agentdbg.replay.descent import regression_remark, start_lines
from agentdbg.replay.foreseen import foreseen_calls
from agentdbg.replay.main_module import MAIN
from agentdbg.replay.narrowed import narrowed_results
from agentdbg.replay.placed import CodeRefused, placed
from agentdbg.replay.policy import Deed
from agentdbg.replay.present import differences_from_record
from agentdbg.replay.recorded_code import CannotRestore
from agentdbg.replay.regression import RegressionOptions, unsafe_start
from agentdbg.replay.restore import FAST_FORWARD, SKIP, SKIPPED, Restored
from agentdbg.replay.run import ReplayOptions, ReplayRefused, edited_at, obstacles_to, restored_at
from agentdbg.replay.spec import interpreter, mapping, working_directory
from agentdbg.replay.start_state import start_state
from agentdbg.replay.trust import is_trusted
from agentdbg.store.reader import DirectoryRunSource

_PLACEHOLDER: Final = "⟦R:".encode()
OBSTACLE, WARNING, FACT = "obstacle", "warning", "fact"
_Make = Callable[[DirectoryRunSource, ReplayOptions], "Plan"]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know before a replay is started.

    Attributes:
        weight: ``obstacle``: it cannot be run like this; ``warning``; ``fact``.
        about: ``entry``, ``trust``, ``body``, ``effect``, ``redacted``, ``differs``, ``value``, ``code``, ``guard``,
            ``start state``, ``edit``, ``pin``, ``intent``, ``sandbox``, ``restore``, ``process`` or ``open``.
        step: Number of the step it is about, where it is about one.
    """

    weight: str
    about: str
    text: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """What will happen to one recorded call.

    Attributes:
        what: ``serve``, ``live``, ``live with drift check``, ``dry-run``, ``refuse``, ``ask``, ``stop``, ``end``:
            the record ends here, or ``skip``: it lies before the restored checkpoint.
        why: The reason, in a few words; of ``then`` where there is one.
        then: What happens to it instead once a model input differs: of a regression replay that finds its start itself.
    """

    step: int
    id: str
    kind: str
    name: str
    effect: str | None
    what: str
    why: str
    then: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Attributes:
    command: What is started, in words.
    trusted: This user recorded the run, or it is shipped: its code is started without asking.
    """

    run_id: str
    mode: str
    guard: str
    from_step: int | None
    command: str
    trusted: bool
    remarks: tuple[Remark, ...] = ()
    rows: tuple[Row, ...] = field(default=(), repr=False)

    @property
    def obstacles(self) -> tuple[Remark, ...]:
        """What keeps it from being run."""
        return tuple(remark for remark in self.remarks if remark.weight == OBSTACLE)

    @property
    def counts(self) -> dict[str, int]:
        """How many calls meet each fate."""
        return dict(Counter(row.what for row in self.rows))

    @property
    def counts_then(self) -> dict[str, int]:
        """How many calls meet each fate once a model input differs; empty when the cut is known."""
        return dict(Counter(row.then for row in self.rows if row.then))

    def members(self) -> dict[str, object]:
        """As in the JSON document."""
        return {
            "mode": self.mode,
            "source_run": self.run_id,
            "from_step": self.from_step,
            "guard": self.guard,
            "command": self.command,
            "trusted": self.trusted,
            "remarks": [asdict(remark) for remark in self.remarks],
            "counts": self.counts,
            "plan": [asdict(row) for row in self.rows],
        }


def plan_exact(source: DirectoryRunSource, options: ReplayOptions) -> Plan:
    """The plan of an exact replay: everything is served.

    Raises:
        BadEdit: An edit cannot be made.
        NoSuchStep: There is no such step to start from.
    """
    if options.is_elsewhere:
        return _elsewhere(source, options, plan_exact)
    source.index(None)
    there, remarks = _restored(source, options)
    tape = cassettes.build(source) if there is None else there.tape
    there, edited = edited_at(source, tape, there, options.edits, exact=True)
    rows = [_row(step, SKIP, SKIPPED) for step in (() if there is None else there.skipped)]
    for call in tape.calls:
        step = source.step_by_id(call.step)
        if step is None:
            continue
        if call.step in edited.steps:
            rows.append(_row(step, Deed.SERVE.value, "its outcome, edited"))
        elif call.ended is not None:
            rows.append(_row(step, Deed.SERVE.value, "its recorded error" if call.error else "its recorded outcome"))
        else:
            rows.append(_row(step, "end", "the record has no outcome of it: the replay ends here"))
    facts = [Remark(FACT, "edit", edit.words()) for edit in options.edits]
    remarks = (*remarks, *_remarks(source, tape, options), *_start_state(source, options), *facts)
    return _plan(source, "exact", options, options.from_step, remarks, rows)


def _restored(source: DirectoryRunSource, options: ReplayOptions) -> tuple[Restored | None, tuple[Remark, ...]]:
    """The checkpoint that is restored, if one is; what stands in the way, or is not as it was there."""
    try:
        there = restored_at(source, options)
    except ReplayRefused as problem:
        return None, (Remark(OBSTACLE, "restore", str(problem)),)
    return there, () if there is None else tuple(Remark(WARNING, "restore", note) for note in there.notes)


def _elsewhere(source: DirectoryRunSource, replay: ReplayOptions, make: _Make) -> Plan:
    """The plan on the recorded code, or on mapped paths."""
    try:
        with placed(source, replay.code, replay.moves, trust=replay.trust) as there:
            found = make(there.source, replay.in_place)
            return _with(found, [Remark(FACT, "code", note) for note in there.notes])
    except (CannotRestore, CodeRefused) as problem:
        return _with(make(source, replay.in_place), [Remark(OBSTACLE, "code", str(problem))])


def plan_regression(source: DirectoryRunSource, options: RegressionOptions) -> Plan:
    """The plan of a regression replay: the policy table's answer to every recorded call.

    Raises:
        BadEdit: An edit cannot be made.
        BadPin: A record has no call of a pinned tool.
        NoSuchStep: There is no such step to start from.
    """
    if options.replay.is_elsewhere:
        wanted = options
        return _elsewhere(source, options.replay, lambda at, here: plan_regression(at, replace(wanted, replay=here)))
    source.index(None)
    tape = cassettes.build(source)
    there, remarks = _restored(source, replace(options.replay, from_step=options.start or 0))
    if options.start is not None and (why := unsafe_start(source, options.start)):
        remarks = (*remarks, Remark(OBSTACLE, "restore", why))
    if remarks and there is None:  # the calls as they would be on the way to there
        options = replace(options, replay=replace(options.replay, prefix=FAST_FORWARD))
    foreseen = foreseen_calls(source, tape, options)
    rows = [_row(step, fate.what, fate.why, fate.then) for step, fate in foreseen.calls]
    facts = [Remark(FACT, "open", f"may be reached: {', '.join(foreseen.open_for) or 'nothing'}")]
    facts += [Remark(FACT, "edit", edit.words()) for edit in options.edits]
    return _plan(
        source,
        "regression",
        options.replay,
        options.start,
        (*remarks, *_remarks(source, tape, options.replay, live=True), *facts),
        rows,
    )


def tiers(source: DirectoryRunSource) -> str:
    """Which kinds of replay a record supports, where it is not exact."""
    entry = mapping(source.summary().meta.get("entry"))
    if mapping(entry.get("callable")) or mapping(entry.get("launch")):
        return ""
    return "only the evidence tier is possible: open it, diff it, ask one of its model calls again"


def _plan(
    source: DirectoryRunSource,
    mode: str,
    options: ReplayOptions,
    start: int | None,
    remarks: tuple[Remark, ...],
    rows: list[Row],
) -> Plan:
    trusted = is_trusted(source)
    if not trusted and not options.trust and not any(each.about == "entry" for each in remarks):
        words = "this user did not record the run: its code is started only when it is trusted (--trust)"
        remarks = (Remark(OBSTACLE, "trust", words), *remarks)
    run_id = source.summary().run_id
    guard = f"container of {options.image}, without network" if options.image else options.guard
    return _with(Plan(run_id, mode, guard, start, _command(source, options.image), trusted, (), tuple(rows)), remarks)


def _with(plan: Plan, remarks: Iterable[Remark]) -> Plan:
    """A plan with further remarks, what weighs most first."""
    weights = (OBSTACLE, WARNING, FACT)
    ordered = sorted([*remarks, *plan.remarks], key=lambda remark: weights.index(remark.weight))
    return replace(plan, remarks=tuple(ordered))


def _row(step: Step, what: str, why: str, then: str = "") -> Row:
    effect = step.effect.value if step.effect is not None else None
    return Row(step.n, step.id, step.kind.value, step.name, effect, what, why, then)


def _remarks(
    source: DirectoryRunSource, tape: Cassette, options: ReplayOptions, *, live: bool = False
) -> Iterator[Remark]:
    for problem in obstacles_to(source):
        yield Remark(OBSTACLE, "entry", problem)
    if possible := tiers(source):
        yield Remark(FACT, "entry", possible)
    for what in tape.missing:
        yield Remark(OBSTACLE, "body", f"missing: {what}")
    for step, hole in narrowed_results(source):
        yield Remark(WARNING, "value", f"{hole} (step {step.n}, {step.name})", step.n)
    for effect in unseen_in(source):
        if effect.uncovered:
            text = f"not served, so the guard stops it: {effect.what} ({effect.place})"
            yield Remark(WARNING, "effect", text, effect.step.n)
    for words in start_lines(source) if not live else ():
        yield Remark(FACT, "process", f"started again, under the same guard: {words}")
    if live and (text := regression_remark(source)):
        yield Remark(WARNING, "process", text)
    if redacted := sum(1 for body in tape.bodies.values() if _PLACEHOLDER in body):
        got = ": a live model gets the placeholders" if live else ""
        yield Remark(WARNING, "redacted", f"{redacted} served values are redacted{got}")
    for text in differences_from_record(source, options.env, python=not options.image):
        yield Remark(WARNING, "differs", text)
    if options.guard == "audit":
        yield Remark(WARNING, "guard", "the audit hook alone: code below Python is not held")
    if options.image:
        try:
            image_of(find_engine(options.engine), options.image)
        except NoContainer as problem:
            yield Remark(OBSTACLE, "guard", str(problem))


def _start_state(source: DirectoryRunSource, options: ReplayOptions) -> Iterator[Remark]:
    """What of the files that the agent wrote cannot be put back as they were."""
    with TemporaryDirectory(prefix="agentdbg-plan-") as place:
        found = start_state(source, working_directory(source, Path(place)), Path(place))
    for problem in found.problems:
        yield Remark(WARNING, "start state", problem)
    if options.guard == "audit" and found.files:
        yield Remark(WARNING, "start state", f"{len(found.files)} files that it wrote are not put back: no views")


def _command(source: DirectoryRunSource, image: str) -> str:
    entry = mapping(source.summary().meta.get("entry"))
    target, launch = mapping(entry.get("callable")), mapping(entry.get("launch"))
    words = [str(word) for word in cast("list[Json]", launch.get("argv") or entry.get("argv") or [])]
    if target:
        home = target.get("file") if target.get("module") == MAIN else target.get("module")
        what = f"{target.get('qualname')} of {home}"
    elif launch:
        what = " ".join([str(launch.get("target") or ""), *words[1:]]).strip()
    else:
        return "nothing: the record has no entry point"
    return f"{what}, with {f'the Python of {image}' if image else interpreter(source)}"
