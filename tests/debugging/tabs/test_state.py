"""State: the checkpoint at or before the step."""

from __future__ import annotations

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.state import state_tab
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def shown(number: int) -> str:
    session = Session(refund_run())
    session.goto_number(number)
    return text_of(state_tab(session))


def test_a_checkpoint_shows_its_state_and_what_changed() -> None:
    text = shown(11)
    assert '"status": "AUTO_EXECUTE"' in text
    assert "≠ changed since step 6 planned" in text
    assert "! no  a refund may already be under way" in text


def test_between_checkpoints_the_last_one_counts() -> None:
    assert "step 6, the last checkpoint before this step" in shown(8)
    assert "Can resume    yes" in shown(8)
    assert "Can resume    undeclared" in shown(17)


def test_before_the_first_there_is_none() -> None:
    assert shown(2) == "no checkpoint at or before this step"
