"""The status line says where one is, in what, and whether it moves."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.session import Session
from agentdbg.model.records import Mode, RunStatus
from agentdbg.ui.status import status_spans
from tests.support.memory_source import plain_steps, run_of
from tests.support.refund_run import refund_run


def line(session: Session, watching: str = "events") -> str:
    left, right = status_spans(session, watching=watching)
    return "".join(span.text for span in [*left, *right])


def test_run_step_and_mark() -> None:
    said = line(Session(refund_run()))
    assert said.startswith(" 2026-01-01-T2041-7f3a  ✓ ok  step 14/17  tool notify_customer  ✗ error")
    assert "follow" not in said


def test_replays_and_flags() -> None:
    source = refund_run()
    source.run = replace(source.run, mode=Mode.REGRESSION, flag="bad")
    assert " LIVE " in line(Session(source)) and "EDITED" not in line(Session(source))
    assert "⚑ flagged" in line(Session(source))
    source.run = replace(source.run, meta={**source.run.meta, "edits": [{"step": 4}]})
    assert " LIVE  EDITED: 1 " in line(Session(source))


def test_a_live_run_says_how_it_is_followed() -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    session = Session(source)
    assert "not following · events" in line(session)
    session.goto(1)
    source.arrive(*plain_steps(3))
    session.poll()
    assert "▼ 3 new: F follows · polling" in line(session, "polling")
    source.run = replace(source.run, status=RunStatus.OK)
    session.poll()
    assert line(session).endswith("▼ 3 new: G goes there ")
    source.run = replace(source.run, status=RunStatus.RUNNING)
    session.poll()
    session.last()
    assert "▼ following" in line(session)


def test_searching_reading_and_nothing() -> None:
    session = Session(refund_run())
    session.search("notify", 0)
    assert "/notify esc closes" in line(session)
    session.indexing = True
    assert "reading the record" in line(session)
    assert "no step yet" in line(Session(run_of([])))


def test_effects_that_no_call_covers_stand_beside_the_status() -> None:
    source = refund_run()
    source.run = replace(source.run, meta={"uncovered": 3})
    assert "  ✓ ok  » 3 effects not covered  step " in line(Session(source))
    source.run = replace(source.run, meta={"uncovered": 0})
    assert "covered" not in line(Session(source))
