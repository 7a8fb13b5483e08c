"""What is said of one difference: its place, and its cause."""

from __future__ import annotations

import pytest

from agentdbg.compare.step_difference import divergence
from agentdbg.model.records import Kind, Step, StepStatus

ONE, OTHER = "⟦R:phone:15:02aacbe44f2e⟧", "⟦R:phone:15:ffffffffffff⟧"


@pytest.mark.parametrize(
    ("expected", "got", "cause"),
    [
        (f"call {ONE} now", f"call {OTHER} now", "redaction"),
        (f"call {ONE} now", "call 123 now", "redaction"),
        ("call 123 now", f"call {ONE} now", "redaction"),
        (f"{ONE}{ONE}", f"{ONE}{OTHER}", "redaction"),
        (f"call {ONE} now", f"ring {ONE} now", "arguments"),
        (f"call {ONE} now", f"call {ONE} later", "arguments"),
        (f"call {ONE} now", "call  now", "arguments"),
        ("a", "b", "arguments"),
        ((ONE + "a") * 500, "a" * 5000 + "b", "arguments"),
    ],
)
def test_redaction_is_the_cause_of_what_differs_in_redacted_values_alone(expected: str, got: str, cause: str) -> None:
    step = Step(n=2, id="aaaaaaaaaaaa:2", kind=Kind.TOOL, name="ring", parent=None, lane="0", status=StepStatus.OK)
    assert divergence(step, "$", expected, got, "arguments").cause == cause
