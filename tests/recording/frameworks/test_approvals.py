"""Calls that wait for a person: who decided, in which run, and whether it is what was executed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import agentdbg
from agentdbg.model.records import Kind, RunStatus
from agentdbg.recording.frameworks import approvals
from agentdbg.recording.frameworks.approvals import WaitingCall
from tests.support.recorded import only_run, recording

CALL = WaitingCall("refund", {"order": "O-1"}, "call_1", "desk")


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "_waiting", {})
    monkeypatch.setattr(approvals, "_decisions", {})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


def test_a_run_that_ends_with_undecided_calls_waits(store: Path) -> None:
    @agentdbg.agent
    def desk() -> None:
        approvals.wait([CALL])

    desk()
    run = only_run(store)
    assert run.source.summary().status is RunStatus.WAITING
    assert approvals.run_of(["other", "call_1"]) == run.source.summary().run_id


def test_a_decision_that_was_made_outside_is_a_step_of_the_run_that_goes_on(store: Path) -> None:
    approvals.decide(CALL, "approved", who="ada")

    @agentdbg.agent
    def desk() -> None:
        approvals.resume(["call_1"])
        approvals.resume(["call_1"])

    desk()
    run = only_run(store)
    (step,) = [step for step in run.source.steps() if step.kind is Kind.APPROVAL]
    assert step.name == "run refund?" and step.attrs["who"] == "ada"
    assert run.source.summary().status is RunStatus.OK


@pytest.mark.parametrize(
    ("decision", "arguments", "said"),
    [
        ("approved", {"order": "O-1"}, True),
        ("approved", {"order": "O-2"}, False),
        ("rejected", {"order": "O-1"}, None),
    ],
)
def test_what_is_executed_says_whether_it_was_approved(
    decision: str, arguments: dict[str, str], said: bool | None
) -> None:
    approvals.decide(CALL, decision)
    assert approvals.as_approved("call_1", arguments) is said
    assert approvals.as_approved("call_2", arguments) is None


def test_what_is_remembered_is_bounded() -> None:
    for n in range(approvals.MOST + 5):
        approvals.decide(WaitingCall("refund", {}, f"call_{n}"), "approved")
    assert approvals.as_approved("call_0", {}) is None
    assert approvals.as_approved(f"call_{approvals.MOST}", {}) is True
