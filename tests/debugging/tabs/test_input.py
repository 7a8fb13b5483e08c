"""Input: the segments of a model call, compared with the call before."""

from __future__ import annotations

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.input import input_tab
from tests.support.memory_source import run_of
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def at(number: int) -> Session:
    session = Session(refund_run())
    session.goto_number(number)
    return session


def test_segments_are_listed_with_what_is_new_since_the_last_call() -> None:
    shown = text_of(input_tab(at(7)), only_open=True)
    assert "10 segments" in shown
    assert "compared with step 3" in shown
    table = [line for line in shown.split("\n") if line[:1] in "=+" and line[1:2] == " "]
    assert [line[0] for line in table] == ["="] * 8 + ["+"] * 2
    assert "order_lookup  call_1" in shown
    assert '"amount": 240.0' in shown


def test_the_first_call_is_compared_with_nothing() -> None:
    shown = text_of(input_tab(at(3)))
    assert "compared with" not in shown
    assert "You work at the refund desk of an online shop." in shown


def test_only_the_newest_messages_start_open() -> None:
    document = input_tab(at(16))
    opened = [section.key for section in document.sections if section.title and section.open]
    assert len(opened) == 3


def test_other_steps_show_their_arguments() -> None:
    assert "Arguments" in text_of(input_tab(at(13)))
    assert "kb/refunds#4" in text_of(input_tab(at(4)))
    assert "this step takes no input" in text_of(input_tab(at(9)))
    assert "no step yet" in text_of(input_tab(Session(run_of([]))))


def test_a_missing_body_is_said_in_its_place() -> None:
    session = at(7)
    session.source.bodies.clear()  # type: ignore[attr-defined]
    assert "body missing: pruned" in text_of(input_tab(session))
