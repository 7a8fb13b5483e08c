"""The policy table's answer to every recorded call, before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentdbg.model.records import Effect, Kind, Step
from agentdbg.replay.cassette import Cassette
from agentdbg.replay.policy import Deed, Match, Situation, Stage, rule
from agentdbg.replay.reach import Requests
from agentdbg.replay.regression import RegressionOptions, arranged, restored_for
from agentdbg.replay.regression_lane import Arrangement, hosts_for_all, ids_in_keys
from agentdbg.replay.restore import SKIP, SKIPPED
from agentdbg.store.reader import DirectoryRunSource


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to a recorded call.

    Attributes:
        then: What happens to it instead once a model input differs; empty when the cut is known.
        why: The reason of ``then``, else of ``what``.
    """

    what: str
    why: str
    then: str = ""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Attributes:
    open_for: What may be reached.
    calls: Each recorded call and what happens to it.
    """

    open_for: tuple[str, ...]
    calls: tuple[tuple[Step, Fate], ...]


def foreseen_calls(source: DirectoryRunSource, tape: Cassette, options: RegressionOptions) -> Foreseen:
    """The policy table's answer to every recorded call.

    Raises:
        BadEdit: An edit cannot be made.
        BadPin: A record has no call of a pinned tool.
        NoSuchStep: There is no such step to start from.
        ReplayRefused: The state cannot be restored there.
    """
    there = restored_for(source, options)
    arrangement = arranged(source, tape if there is None else there.tape, options, there)
    open_for = tuple(hosts_for_all(source, options.sandbox))
    skipped = () if there is None else there.skipped
    found = [(step, Fate(SKIP, SKIPPED)) for step in skipped]
    ids = ids_in_keys(source, arrangement.tape)
    for call in arrangement.tape.calls:
        step = source.step_by_id(call.step)
        if step is not None:
            found.append((step, _foreseen(step, call.ended is None, arrangement, options, ids)))
    return Foreseen(open_for, tuple(found))


def _foreseen(
    step: Step, in_doubt: bool, arrangement: Arrangement, options: RegressionOptions, ids: Sequence[str]
) -> Fate:
    """The table's answer to a recorded call that is made again as it was; what only the program knows is left open."""
    stage = Stage.AFTER
    if arrangement.prefix is None:
        stage = Stage.BEFORE
    elif step.id in arrangement.prefix:
        stage = Stage.PREFIX
    if step.id in arrangement.edited:
        return Fate(Deed.SERVE.value, "its outcome was edited")
    if step.id in arrangement.calls:
        stage = Stage.AFTER
    key = step.idempotency_key
    is_read = step.kind is Kind.HTTP and Requests((), options.replay.reads).only_read(step.name)
    case = Situation(
        kind=step.kind,
        effect=Effect.READ if is_read else step.effect,
        stage=stage,
        match=Match.NONE if step.id in arrangement.calls else Match.SAME,
        in_doubt=in_doubt,
        settles=True,
        sandboxed=options.sandbox is not None and step.name in options.sandbox.tools,
        key_holds=key is not None and not any(part in key for part in ids),
        pinned=step.name in arrangement.pins,
        served_only=step.attrs.get("protocol") == "mcp",
    )
    ruling = rule(case)
    if step.id in arrangement.calls:
        return Fate(ruling.deed.value, f"with edited arguments: {ruling.reason}{_else(step, case)}")
    if stage is not Stage.BEFORE:
        return Fate(ruling.deed.value, f"{ruling.reason}{_else(step, case)}")
    after = rule(replace(case, stage=Stage.AFTER))
    return Fate(ruling.deed.value, f"{after.reason}{_else(step, case)}", after.deed.value)


def _else(step: Step, case: Situation) -> str:
    """What happens to a write with other arguments."""
    writes = step.kind in (Kind.TOOL, Kind.HTTP) and step.effect not in (Effect.NONE, Effect.READ)
    if not writes or case.stage is Stage.PREFIX or case.pinned:
        return ""
    if case.sandboxed and step.effect is Effect.WRITE:
        return ""
    if case.sandboxed and case.key_holds:
        return "; with another key its dry run if it has one, else refused"
    return "; with other arguments its dry run if it has one, else refused"
