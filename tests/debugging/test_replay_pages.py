"""What the replay screens say, for whatever happened."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from agentdbg.debugging.replay_pages import live_document, state_spans
from agentdbg.replay.session_events import CallAt, Ended, Paused, Refused
from agentdbg.replay.where import Frame
from tests.support.reading import text_of


def live(**facts: Any) -> Any:
    known: dict[str, Any] = {
        "ended": None,
        "outcome": None,
        "held": (),
        "question": None,
        "effects": [],
        "log": [],
        "calls": 3,
        "final_state": "",
        "sample": 1,
        "mode": "exact",
        "quiet": (),
    }
    return SimpleNamespace(**{**known, "published": "", **facts})


def said(**facts: Any) -> str:
    return "".join(span.text for span in state_spans(live(**facts)))


def test_states() -> None:
    held = Paused(CallAt("a", "tool", "pay", None), "pause")
    assert said() == "● running  3 calls"
    assert said(sample=0) == "● starting"
    assert "which inputs your change touches" in said(sample=0, mode="regression")
    assert said(held=(held, held)) == "‖ paused before tool pay and 1 more"
    assert said(quiet=(Frame("/a/loop.py", 3, "wait", "x", True),)) == "● running, no call yet  loop.py:3 wait"
    line = Paused(CallAt("line 1", "line", "a.py:3", None), "pdb")
    assert said(held=(line,)) == "‖ paused at line a.py:3"
    assert said(question=SimpleNamespace(about="approval", name="?")) == "? asks you: a answers"
    assert said(ended=Ended(None, "no")) == "✗ not run"


def test_what_was_not_run_says_why() -> None:
    found = live(ended=Ended(None, "not recorded by this user; say --trust", refused=True))
    assert "refused" in text_of(live_document(found)) and "--trust" in text_of(live_document(found))


def test_a_question_choices_and_many_effects() -> None:
    held = Paused(CallAt("a", "tool", "pay", 4), "breakpoint", choices=("refuse", "result"))
    effects = [Refused("socket.connect", f"host-{n}:443", "desk.py:1 run", False) for n in range(25)]
    question = SimpleNamespace(about="tool", name="pay", key="refund-1")
    text = text_of(live_document(live(held=(held,), effects=effects, question=question)))
    assert "go, refuse, result[=JSON]" in text
    assert "only the word yes makes this call" in text and "refund-1" in text
    assert "host-19" in text and "host-20" not in text and "and 5 more" in text


def test_output_is_shown_harmless() -> None:
    assert "\x1b" not in text_of(live_document(live(log=["a\x1b[2J"])))
