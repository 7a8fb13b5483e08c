"""Bookmarks, breakpoints and divergences as stops."""

from __future__ import annotations

from agentdbg.debugging.compared import compare_runs
from agentdbg.debugging.session import Session
from tests.support.refund_run import refund_run, twin_run


def at(session: Session) -> str:
    assert session.current is not None
    return session.current.name


def test_a_breakpoint_stands_on_every_step_of_its_kind_and_name() -> None:
    session = Session(refund_run())
    session.goto_number(14)
    session.stops.toggle_breakpoint()
    assert "every tool notify_customer" in session.message
    assert "break" in [mark.word for mark in session.marks_of(session.steps[14])]
    session.first()
    session.stops.next()
    assert session.cursor == 13
    session.stops.next()
    assert session.cursor == 14
    session.stops.previous()
    session.stops.previous()
    assert "no earlier bookmark, breakpoint or divergence" in session.message
    session.stops.toggle_breakpoint()
    session.first()
    session.stops.next()
    assert "no further" in session.message


def test_breakpoints_bookmarks_and_differences_stop_together() -> None:
    session = Session(refund_run())
    session.goto_number(5)
    session.stops.toggle_breakpoint()
    session.goto_number(3)
    session.stops.toggle_bookmark()
    compared = compare_runs(session.source, twin_run(), lambda: False)
    session.compare(compared)
    session.first()
    stopped = []
    for _ in range(4):
        session.stops.next()
        stopped.append(session.cursor + 1)
    assert stopped == [3, 5, 8, 10]
    session.stops.toggle_breakpoint()


def test_differences_alone_stop_too() -> None:
    session = Session(refund_run())
    session.compare(compare_runs(session.source, twin_run(), lambda: False))
    session.first()
    session.stops.next()
    assert at(session) == "policy_lookup"
