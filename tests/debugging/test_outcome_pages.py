"""How a replay ended: the verdict, what it rests on, and where in the program it was stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentdbg.compare.answers import Answer
from agentdbg.compare.trajectory import Divergence
from agentdbg.debugging.document import Document, Tone
from agentdbg.debugging.outcome_pages import outcome_sections, verdict_tone, verdict_words
from agentdbg.i18n.catalogue import choose_language
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.session_events import Ended
from tests.support.reading import text_of

HOSTILE = "pay\x1b]52;c;x\x07 [bold]"
FOUND = Outcome(
    "incident",
    "changed",
    "final state AUTO_EXECUTE → WAITING_HUMAN_APPROVAL",
    replay_run="incident.regression-1",
    first_divergence=Divergence(13, "r:13", "checkpoint", "read", "$.policy", "(absent)", "true", "result"),
    answers=(
        Answer("versions", "no", None, "6 versions agree"),
        Answer("arguments", "yes", True, "step 20"),
        Answer("results", "yes", False, "step 21"),
    ),
    served=6,
    unconsumed=5,
    total=11,
    refused=({"effect": "socket.connect", "detail": "10.0.0.1:443", "frame": "desk.py:9 send", "step": "r:3"},),
    tolerated=({"effect": "socket.connect", "detail": "metrics:4317", "frame": "m.py:1 push"},),
    uncovered=({"step": 17, "effect": "open", "detail": "{root}/ledger", "frame": "desk.py:4 pay"},),
    contained=({"effect": "openat", "detail": "/srv/shop/log"},),
    guard=("audit", "seccomp"),
    notes=("a note",),
    mode="regression",
    from_step=14,
    live=2,
    dry_run=2,
    drift=({"step": 11, "name": "get_order", "path": "$.total", "expected": "120", "got": "130"},),
    findings=({"step": 16, "name": HOSTILE, "deed": "dry-run", "reason": "not in the record: its dry run"},),
    touched=({"step": 14, "name": "refund-model", "path": "$.messages", "cause": "input.history"},),
    edits=({"step": 4, "path": "result.amount", "value": 10},),
    stability="2/3",
    sandbox="staging",
    samples=(
        {"replay_run": "incident.regression-1", "verdict": "changed", "final_state": "WAITING", "path": ["approval"]},
        {"replay_run": "incident.regression-2", "verdict": "same", "final_state": None, "error": "it broke"},
    ),
)


def said(ended: Ended, *, opens: bool = True, state: str = "WAITING_HUMAN_APPROVAL") -> str:
    return text_of(Document(tuple(outcome_sections(ended, opens=opens, state=state))))


def test_everything_that_the_verdict_rests_on_is_there() -> None:
    text = said(Ended(FOUND))
    for words in (
        "≠ changed",
        "enter opens both runs side by side, at the first difference",
        "WAITING_HUMAN_APPROVAL",
        "step 13, checkpoint read  $.policy",
        "6 of 11 served (55 %) · 2 live · 2 dry runs · 1 refused · 5 not asked for",
        "14: live from there on",
        "4:result.amount = 10",
        "2/3 agree",
        "staging",
        "audit, seccomp",
        "yes, intended  step 20",
        "yes, unintended  step 21",
        "incident.regression-1  changed  WAITING  approval",
        "it broke",
        "dry-run  replay step 16: pay",
        "$.total  120 → 130",
        "refund-model $.messages  input.history",
        "✗ socket.connect 10.0.0.1:443  desk.py:9 send",
        "! open {root}/ledger  step 17  desk.py:4 pay",
        "/srv/shop/log",
        "metrics:4317",
        "a note",
    ):
        assert words in text, words
    assert "\x1b" not in text and "\x07" not in text and "[bold]" in text


def test_what_there_is_nothing_of_is_left_out() -> None:
    plain = Outcome("run", "identical", "identical: every step agrees", served=2, total=2, guard=("audit",))
    text = said(Ended(plain), opens=False, state="")
    assert "side by side" not in text and "Samples" not in text and "Notes" not in text
    assert "2 of 2 served (100 %)" in text


def test_long_lists_are_cut_and_say_so() -> None:
    many = tuple({"effect": "open", "detail": f"/srv/{n}"} for n in range(30))
    text = said(Ended(replace(FOUND, contained=many)))
    assert "/srv/19" in text and "/srv/20" not in text and "and 10 more" in text


@pytest.mark.parametrize(
    ("verdict", "words", "tone"),
    [
        ("identical", "✓ identical", Tone.OK),
        ("unaffected", "✓ unaffected", Tone.OK),
        ("recording_ended", "✓ recording_ended", Tone.OK),
        ("flaky", "≠ flaky", Tone.WARN),
        ("diverged", "✗ diverged", Tone.ERROR),
        ("refused", "✗ refused", Tone.ERROR),
        ("crashed", "✗ crashed", Tone.ERROR),
    ],
)
def test_verdicts_have_a_sign_and_a_word(verdict: str, words: str, tone: Tone) -> None:
    assert verdict_words(replace(FOUND, verdict=verdict)) == words
    assert verdict_tone(verdict) is tone


def test_an_agreement_under_rules_says_so() -> None:
    assert verdict_words(replace(FOUND, verdict="identical", rules_used=("$..nonce",))) == "✓ identical under 1 rule"


def test_a_program_that_crashed_shows_what_it_printed() -> None:
    text = said(Ended(replace(FOUND, verdict="crashed", log="Traceback\nKeyError: 'x'\x1b[2J")))
    assert "KeyError" in text and "\x1b" not in text


def test_what_was_not_run_says_why() -> None:
    assert "say --trust" in said(Ended(None, "somebody else's; say --trust", refused=True))


def test_it_is_said_in_chinese_too() -> None:
    choose_language("zh")
    try:
        text = said(Ended(FOUND))
    finally:
        choose_language("en")
    assert "按 enter 并排查看两个运行" in text and "2 次演练" in text
