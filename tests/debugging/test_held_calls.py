"""What a user decides about a held call, as text."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from agentdbg.debugging.held_calls import choices_in_words, decide, value_text
from agentdbg.replay.session import CannotDo, ReplaySession
from agentdbg.replay.session_events import CallAt, Paused

HELD = Paused(CallAt("x:1", "tool", "look", 2), "pause", choices=("live", "result", "arguments"), arguments={"a": 1})


class Session:
    """Keeps what was decided."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []

    def recorded_result(self, held: Paused) -> Any:
        return {"note": "\x1b[2J \u202e ü 中", "n": None}

    def decide(self, action: str, value: object, call: str | None, *, encoded: bool) -> None:
        if action == "other":
            raise CannotDo("other cannot be done")
        self.done.append((action, value, call, encoded))


@pytest.fixture
def session() -> Session:
    return Session()


def said(session: Session, text: str, held: Paused | None = HELD) -> str:
    return decide(cast("ReplaySession", session), held, text)


def test_a_decision_with_and_without_a_value(session: Session) -> None:
    assert said(session, " go ") == said(session, 'result={"a": [1, "="]}') == said(session, "arguments=null") == ""
    assert session.done == [
        ("go", None, "x:1", True),
        ("result", {"a": [1, "="]}, "x:1", True),
        ("arguments", None, "x:1", True),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("result", "type result=JSON"),
        ("arguments", "type arguments=JSON"),
        ("result=", "no JSON"),
        ("result={", "no JSON"),
        ("result=" + "[" * 100_000, "no JSON"),
        ("other", "cannot be done"),
        ("", ""),
    ],
    ids=lambda text: text[:10],
)
def test_what_is_no_decision_says_why(session: Session, text: str, words: str) -> None:
    assert words in said(session, text)


def test_a_value_is_edited_as_json_in_which_nothing_is_hidden(session: Session) -> None:
    text = value_text(cast("ReplaySession", session), HELD, "result")
    assert json.loads(text) == session.recorded_result(HELD)
    assert "\\u001b[2J \\u202e ü 中" in text
    assert json.loads(value_text(cast("ReplaySession", session), HELD, "arguments")) == {"a": 1}


def test_the_choices_say_which_take_a_value() -> None:
    assert choices_in_words(HELD.choices) == "go, live, result[=JSON], arguments[=JSON]"
