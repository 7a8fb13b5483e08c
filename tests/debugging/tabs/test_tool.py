"""Tool: a call as a whole."""

from __future__ import annotations

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.tool import tool_tab
from agentdbg.model.records import RunStatus
from tests.support.memory_source import run_of
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def shown(number: int) -> str:
    session = Session(refund_run())
    session.goto_number(number)
    return text_of(tool_tab(session))


def test_effect_identity_arguments_and_result() -> None:
    text = shown(13)
    for words in ("external  irreversible", "ok  1.52s", "fp1:", "T-2041/refund", '"amount": 240.0', "R-00001"):
        assert words in text


def test_a_failed_write_without_key_says_both() -> None:
    text = shown(14)
    assert "no key" in text
    assert "mail relay refused" in text
    assert "○ response headers were not recorded" in shown(15)


def test_an_intent_without_outcome_says_so() -> None:
    text = text_of(tool_tab(Session(refund_run(crash=True, status=RunStatus.LOST))))
    assert "nothing says how it ended" in text
    assert "T-2041/refund" in text


def test_a_call_that_still_runs_is_not_called_unfinished() -> None:
    assert "no outcome yet" in text_of(tool_tab(Session(refund_run(crash=True, status=RunStatus.RUNNING))))


def test_other_kinds_of_steps() -> None:
    assert "a model call, not a tool" in shown(3)
    assert "Approval      refund over 200 EUR" in shown(12)
    assert "no step yet" in text_of(tool_tab(Session(run_of([]))))
