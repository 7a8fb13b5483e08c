"""What a regression replay does with a call, and why: the one table, read by the plan and by the child process.

========  ==================  =================================================================================
where     call                what happens
========  ==================  =================================================================================
prefix    any                 served; what the record does not have never runs (*prefix changed*)
before    same as recorded    served: the model goes live at the first input that differs
after     model               live, by the program's own client, on the present prompt and route
after     tool ``none``       live
after     tool ``read``       live; a result other than the recorded one of the same call is *drift*
after     tool ``write``      live in a sandbox; else the recorded result of the same call, the tool's dry run, refused
after     tool ``external``   as ``write``; in a sandbox only with the recorded key, not derived, and a person's yes
after     HTTP                GET, HEAD, OPTIONS and what is named as ``read``, the rest as ``external``
after     approval            the recorded decision of the same question, else a person is asked
========  ==================  =================================================================================

A tool that nobody declared is ``external``. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agentdbg.model.records import Effect, Kind


class Deed(StrEnum):
    """What is done with a call."""

    SERVE = "serve"
    LIVE = "live"
    CHECKED = "live with drift check"
    DRY_RUN = "dry-run"
    REFUSE = "refuse"
    ASK = "ask"
    STOP = "stop"


RUNS = (Deed.LIVE, Deed.CHECKED)


class Stage(StrEnum):
    """How far a replay has come where a call is made."""

    PREFIX = "prefix"
    BEFORE = "before"
    AFTER = "after"
    CONTROL = "control"


class Match(StrEnum):
    """How a recorded call was found for one that is made."""

    SAME = "same"
    RENAMED = "renamed"
    PLACE = "place"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Situation:
    """What the table looks at.

    Attributes:
        effect: As the code that runs now declares it; ``None``: undeclared.
        match: How an unserved recorded call was found; by place only where that counts.
        in_doubt: The record has no outcome of it.
        settles: The tool has a status look-up.
        dry_run: The tool has a dry run.
        sandboxed: The tool is named by the sandbox that was asked for.
        key_holds: It has the idempotency key that is recorded for this tool, which is not derived from run or step.
        pinned: One record answers all calls of this tool.
        inside: It is made by the body of a tool that runs live.
        served_only: Who does it is not there in a replay: a server of the Model Context Protocol.
    """

    kind: Kind
    effect: Effect | None
    stage: Stage
    match: Match = Match.NONE
    in_doubt: bool = False
    settles: bool = False
    dry_run: bool = False
    sandboxed: bool = False
    key_holds: bool = False
    pinned: bool = False
    inside: bool = False
    served_only: bool = False


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is done, and why in a few words."""

    deed: Deed
    reason: str


def rule(case: Situation) -> Ruling:
    """Decide about one call."""
    same = case.match in (Match.SAME, Match.RENAMED)
    if case.pinned and case.stage is not Stage.CONTROL:
        return _pinned(case)
    if case.stage is Stage.PREFIX:
        return _prefix(case)
    if case.stage is Stage.CONTROL:
        found = case.match is not Match.NONE and not case.in_doubt
        return Ruling(Deed.SERVE, "control: everything is served") if found else Ruling(Deed.STOP, "not in the record")
    if case.stage is Stage.BEFORE and same and not case.in_doubt:
        return Ruling(Deed.SERVE, "nothing differs up to here")
    return _live(case)


def _pinned(case: Situation) -> Ruling:
    if case.match is Match.NONE or case.in_doubt:
        return Ruling(Deed.REFUSE, "pinned to a record that has no further call of it")
    return Ruling(Deed.SERVE, "pinned to a record")


def _prefix(case: Situation) -> Ruling:
    if case.match is Match.NONE:
        return Ruling(Deed.STOP, "before the checkpoint, and not in the record")
    if case.in_doubt:
        return _in_doubt(case)
    how = {Match.SAME: "the same call", Match.RENAMED: "the same but for ids", Match.PLACE: "the call at this place"}
    return Ruling(Deed.SERVE, f"before the checkpoint: {how[case.match]}")


def _live(case: Situation) -> Ruling:
    if case.kind is Kind.MODEL:
        return Ruling(Deed.LIVE, "models are called for real")
    if case.kind is Kind.APPROVAL:
        if case.match in (Match.SAME, Match.RENAMED) and not case.in_doubt:
            return Ruling(Deed.SERVE, "the same question: the recorded decision")
        return Ruling(Deed.ASK, "another question than recorded: a person is asked, nobody decides by default")
    if case.served_only:
        return _far(case)
    if case.effect is Effect.NONE:
        return Ruling(Deed.LIVE, "declared to reach nothing outside")
    if case.effect is Effect.READ:
        return Ruling(Deed.CHECKED, "declared to read only")
    return _writing(case)


def _far(case: Situation) -> Ruling:
    """A call that nobody is there for: never made, whatever it declares."""
    if case.match in (Match.SAME, Match.RENAMED) and not (case.inside or case.in_doubt):
        return Ruling(Deed.SERVE, "no replay reaches its server: the recorded result of the same call")
    return Ruling(Deed.REFUSE, "no replay reaches its server, and the record has no such call with its outcome")


def _writing(case: Situation) -> Ruling:
    external = case.effect is not Effect.WRITE
    if case.sandboxed and not external:
        return Ruling(Deed.LIVE, "in the sandbox")
    if case.sandboxed and case.key_holds:
        return Ruling(Deed.ASK, "external, in the sandbox, with its recorded key: only with a person's yes")
    if case.match in (Match.SAME, Match.RENAMED) and not case.inside:
        return _in_doubt(case) if case.in_doubt else Ruling(Deed.SERVE, "the same call: its recorded result")
    return otherwise(case)


def otherwise(case: Situation) -> Ruling:
    """What happens to a write that is neither made nor in the record."""
    lacking = "; in the sandbox, but without its recorded, non-derived key" if case.sandboxed else ""
    if case.dry_run:
        return Ruling(Deed.DRY_RUN, f"not in the record: its dry run{lacking}")
    level = "external" if case.effect is not Effect.WRITE else "a write"
    return Ruling(Deed.REFUSE, f"{level}, not in the record, without a dry run{lacking}")


def _in_doubt(case: Situation) -> Ruling:
    if case.settles:
        return Ruling(Deed.CHECKED, "in doubt: its status look-up settles whether it was done")
    return Ruling(Deed.REFUSE, "in doubt: the record has no outcome, and the tool no status look-up")
