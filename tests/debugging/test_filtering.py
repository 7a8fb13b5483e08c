"""Only some of the steps."""

from __future__ import annotations

from agentdbg.debugging.filtering import Filtered
from agentdbg.debugging.session import Session
from agentdbg.model.records import RunStatus
from tests.support.memory_source import plain_steps
from tests.support.refund_run import refund_run


def filtered(session: Session, words: str) -> Session:
    found = Filtered(words)
    assert found.look(session.steps)
    session.filter(found)
    return session


def numbers(session: Session) -> list[int]:
    return [session.index_at(row) + 1 for row in range(session.rows)]


def test_every_word_must_be_held() -> None:
    session = filtered(Session(refund_run()), "tool write")
    assert numbers(session) == [14, 15]
    assert numbers(filtered(Session(refund_run()), "CONNECTIONERROR")) == [14]


def test_the_cursor_goes_to_the_nearest_shown_step_and_moves_among_them() -> None:
    session = Session(refund_run())
    session.first()
    filtered(session, "model")
    first = session.cursor
    assert numbers(session)[0] == first + 1
    session.forward()
    assert session.cursor + 1 == numbers(session)[1]
    session.into_back()
    assert session.cursor == first
    session.last()
    assert session.cursor + 1 == numbers(session)[-1]
    session.into()
    assert "last step" in session.message


def test_going_to_a_hidden_step_closes_the_filter_and_says_so() -> None:
    session = filtered(Session(refund_run()), "model")
    session.goto_number(14)
    assert session.filtered is None
    assert "filter closed" in session.message
    assert session.rows == session.count


def test_what_holds_nothing_hides_nothing() -> None:
    session = filtered(Session(refund_run()), "no such words")
    assert session.filtered is None
    assert session.message == "no step holds no such words"


def test_new_steps_pass_the_filter_too() -> None:
    source = refund_run(status=RunStatus.RUNNING, crash=True)
    session = filtered(Session(source), "model")
    before = session.rows
    source.arrive(*plain_steps(4))
    session.poll()
    assert session.rows == before + 2


def test_it_can_be_called_off() -> None:
    assert Filtered("x").look(refund_run().steps(), lambda: True) is False
