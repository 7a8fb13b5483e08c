"""Summary: the run at a glance."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.summary import summary_tab
from agentdbg.model.records import ErrorInfo, Mode, RunStatus
from tests.support.memory_source import run_of
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def test_it_says_what_was_asked_answered_and_done_outside() -> None:
    shown = text_of(summary_tab(Session(refund_run())))
    assert "The headphones of order A-1042 do not fit me" in shown
    assert "Refund R-00001 of 240.00 EUR is on its way." in shown
    assert "done          2" in shown
    assert "execute_refund  key T-2041/refund" in shown
    assert "in doubt      1" in shown
    assert "4,829 in · 3,307 cached · 160 out" in shown


def test_damage_comes_first() -> None:
    source = refund_run()
    source.damage = ["2 records are torn"]
    assert text_of(summary_tab(Session(source))).startswith("! 2 records are torn")


def test_a_replay_says_which_kind_and_of_what() -> None:
    source = refund_run()
    source.run = replace(
        source.run, mode=Mode.EXACT, replay_of="src", verdict="identical", flag="odd", status=RunStatus.FAILED,
        error=ErrorInfo("ValueError", "no\x1b"),
            meta={"edits": [{"step": 4, "path": "result.amount", "value": 10}, "odd"]},
    )  # fmt: skip
    shown = text_of(summary_tab(Session(source)))
    for words in (
        "EXACT  of src",
        "Edited        4:result.amount = 10",
        "identical",
        "⚑ odd",
        "✗ failed",
        "ValueError: no␛",
    ):
        assert words in shown


def test_missing_bodies_and_an_empty_run_are_said() -> None:
    source = refund_run()
    source.bodies.clear()
    assert "body missing: pruned" in text_of(summary_tab(Session(source)))
    assert "not recorded" in text_of(summary_tab(Session(run_of([]))))


def test_a_time_that_is_none_is_no_crash() -> None:
    source = refund_run()
    source.run = replace(source.run, started_at=1e30)
    assert "at no known time" in text_of(summary_tab(Session(source)))


def test_before_the_run_has_been_looked_through_it_says_so() -> None:
    session = Session(refund_run())
    session.overview = None
    assert "looking through the run" in text_of(summary_tab(session))
