"""How far a call came outside: done, in doubt, or not made at all."""

from __future__ import annotations

import pytest

from agentdbg.model.outward import how_far, is_refused
from agentdbg.model.records import Effect, ErrorInfo, Json, Kind, Step, StepStatus

REFUSAL = ErrorInfo("CallRefused", "agentdbg: pay is not run in a regression replay: a write")


def step(**members: object) -> Step:
    return Step(1, "w:1", members.pop("kind", Kind.TOOL), "pay", Effect.WRITE, **members)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "attrs", "state"),
    [
        (StepStatus.OK, {}, "done"),
        (StepStatus.OPEN, {}, "in_doubt"),
        (StepStatus.ERROR, {}, "in_doubt"),
        (StepStatus.CANCELLED, {}, "in_doubt"),
        (StepStatus.TIMED_OUT, {}, "in_doubt"),
        (StepStatus.ERROR, {"refused": True}, "refused"),
        (StepStatus.OK, {"served_from": "w:1"}, "served"),
        (StepStatus.OK, {"dry_run": True}, "dry_run"),
        (StepStatus.OK, {"status": True}, "looked_up"),
        (StepStatus.OK, {"status": "PAID"}, "done"),
        (StepStatus.OK, {"edited": True}, "put_in"),
    ],
)
def test_how_far_a_call_came(status: StepStatus, attrs: dict[str, Json], state: str) -> None:
    assert how_far(step(status=status, attrs=attrs)) == state


def test_a_call_that_the_policy_kept_back_is_refused_and_an_error_of_the_same_name_is_not() -> None:
    assert how_far(step(status=StepStatus.ERROR, error=REFUSAL)) == "refused"
    assert not is_refused(step(status=StepStatus.ERROR, error=ErrorInfo("CallRefused", "busy")))
    assert not is_refused(step(kind=Kind.AGENT, status=StepStatus.ERROR, error=REFUSAL))
