"""Every mark has a sign and a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentdbg.debugging import marks
from agentdbg.debugging.document import Tone
from agentdbg.model.records import Effect, ErrorInfo, Kind, RunStatus, RunSummary, Step, StepStatus

STEP = Step(n=1, id="w:0", kind=Kind.TOOL, name="t")


@pytest.mark.parametrize(
    ("changes", "live", "words"),
    [
        ({}, False, []),
        ({"status": StepStatus.ERROR}, False, ["error"]),
        ({"error": ErrorInfo("E", "")}, False, ["error"]),
        ({"status": StepStatus.TIMED_OUT}, False, ["timeout"]),
        ({"status": StepStatus.CANCELLED, "error": ErrorInfo("E", "")}, False, ["cancelled"]),
        ({"status": StepStatus.PARTIAL}, False, ["partial"]),
        ({"status": StepStatus.OPEN}, False, ["open"]),
        ({"status": StepStatus.OPEN}, True, ["running"]),
        ({"status": StepStatus.OPEN, "effect": Effect.EXTERNAL}, False, ["in doubt"]),
        ({"kind": Kind.APPROVAL}, False, ["approval"]),
        ({"attrs": {"can_resume": False}}, False, ["unsafe"]),
        ({"attrs": {"unsafe_reasons": ["paid"]}, "holes": ("x",)}, False, ["unsafe", "hole"]),
        ({"attrs": {"refused": True}, "status": StepStatus.ERROR}, False, ["refused"]),
        ({"attrs": {"diverged": True}, "status": StepStatus.ERROR}, False, ["diverged", "error"]),
    ],
)
def test_what_deserves_attention(changes: dict, live: bool, words: list[str]) -> None:
    found = marks.marks(replace(STEP, **changes), live=live)
    assert [mark.word for mark in found] == words
    assert all(mark.sign and isinstance(mark.tone, Tone) for mark in found)


def test_reasons_not_to_resume_are_told_and_silence_is_not_a_reason() -> None:
    assert marks.unsafe_reasons(STEP) is None
    assert marks.unsafe_reasons(replace(STEP, attrs={"can_resume": "no", "unsafe_reasons": ["a", "b"]})) == ("a", "b")
    assert marks.unsafe_reasons(replace(STEP, attrs={"can_resume": True})) is None


def test_a_run_that_waits_without_a_process_is_not_live() -> None:
    waiting = RunSummary("r", RunStatus.WAITING)
    assert marks.is_live(waiting)
    assert not marks.is_live(replace(waiting, ended_at=1.0))


def test_the_divergence_of_a_verdict_is_read_in_both_shapes() -> None:
    run = RunSummary("r", RunStatus.OK)
    assert marks.first_divergence_id(run) is None
    assert marks.first_divergence_id(replace(run, meta={"first_divergence": "w:3"})) == "w:3"
    assert marks.first_divergence_id(replace(run, meta={"first_divergence": {"id": "w:4", "step": 5}})) == "w:4"
    assert marks.first_divergence_id(replace(run, meta={"first_divergence": 7})) is None
