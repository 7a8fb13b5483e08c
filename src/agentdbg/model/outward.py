"""How far a call came outside: whether it was made at all, or something stood in its place."""

from __future__ import annotations

from typing import Final

from agentdbg.model.records import Effect, Step, StepStatus

DONE, IN_DOUBT, REFUSED, SERVED = "done", "in_doubt", "refused", "served"
DRY_RUN, LOOKED_UP, PUT_IN = "dry_run", "looked_up", "put_in"
NOT_MADE: Final = (REFUSED, SERVED, DRY_RUN, LOOKED_UP, PUT_IN)
"""In these nothing was done outside."""
OUTWARD: Final = (Effect.WRITE, Effect.EXTERNAL)

_INSTEAD: Final = (("dry_run", DRY_RUN), ("status", LOOKED_UP), ("edited", PUT_IN))
_REFUSAL, _SAYS = "CallRefused", "agentdbg: "


def how_far(step: Step) -> str:
    """How far a call came. An error from a write says nothing about what was done: it is in doubt."""
    if is_refused(step):
        return REFUSED
    if step.attrs.get("served_from"):  # a replay's outcome came from the record
        return SERVED
    if step.is_call:
        for attr, state in _INSTEAD:  # a replay put something in its place
            if step.attrs.get(attr) is True:
                return state
    return DONE if step.status in (StepStatus.OK, StepStatus.PARTIAL) else IN_DOUBT


def is_refused(step: Step) -> bool:
    """Whether a guard or a replay's policy kept the call from running."""
    if step.attrs.get("refused"):
        return True
    error = step.error
    return step.is_call and error is not None and error.type == _REFUSAL and error.message.startswith(_SAYS)
