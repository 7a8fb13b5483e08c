"""What the engines say is there in Chinese too; and nothing is translated that is not said any more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentdbg
from agentdbg.compare.answers import FINAL
from agentdbg.debugging.actions import Place, actions_of
from agentdbg.i18n import en, zh
from agentdbg.i18n.catalogue import choose_language
from agentdbg.i18n.phrases import phrase
from agentdbg.i18n.zh_outcomes import OUTCOMES
from agentdbg.i18n.zh_plans import PLANS
from agentdbg.i18n.zh_screen_phrases import SCREEN_PHRASES
from agentdbg.replay.policy import Deed

SOURCE = Path(agentdbg.__file__).parent
PHRASES = {**SCREEN_PHRASES, **PLANS, **OUTCOMES}
COVERED = (
    "replay/policy.py",
    "replay/foreseen.py",
    "replay/sandbox.py",
    "replay/child_report.py",
    "replay/start_state.py",
    "replay/session_values.py",
    "compare/answers.py",
    "debugging/live_replay.py",
    "debugging/replay_pages.py",
    "debugging/plan_pages.py",
    "debugging/outcome_pages.py",
    "ui/screens/plan.py",
    "ui/screens/replay.py",
    "ui/replaying.py",
)
"""Modules whose every sentence has to be there."""
CATALOGUE = ("ask.", "brief.", "dialog.", "keys.", "live.", "outcome.", "plan.", "question.", "replay.", "verify.")
_WORDS = re.compile(r"[a-z]{2,} (?:[a-z]|\{)|\} [a-z]{2,}")
_INTERNAL = re.compile(
    r"agentdbg-|where \{\}|end \{\}|end log|\(not understood|has no member|use (?:texts|a list)"
    r"|documents or reads|tool (?:calls|results)"
)


@pytest.fixture(autouse=True)
def chinese() -> Iterator[None]:
    choose_language("zh")
    yield
    choose_language("en")


def literals(path: Path) -> Iterator[str]:
    """Texts of a module, what is put into them as ``{}``; no documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    left_out |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def sentences(path: Path) -> Iterator[str]:
    """Those that read like something said to people, in the parts that are looked up."""
    for text in literals(path):
        if _WORDS.search(text) and not _INTERNAL.search(text):
            yield from (part for part in text.strip("; ").split("; ") if _WORDS.search(part))


def pattern(text: str) -> re.Pattern[str]:
    """Finds a text in a phrase, whatever stands in the places of either."""
    return re.compile(".*".join(map(re.escape, text.strip(" ,").split("{}"))), re.DOTALL)


def places_alike(text: str) -> str:
    return re.sub(r"\{\w+\}", "{}", text)


@pytest.mark.parametrize("name", COVERED)
def test_every_sentence_of_these_modules_is_there_in_chinese(name: str) -> None:
    there = "\n\n".join(map(places_alike, (*PHRASES, *en.MESSAGES.values())))
    assert [text for text in sentences(SOURCE / name) if not pattern(text).search(there)] == []


def test_every_text_of_the_replay_is_there_in_chinese() -> None:
    assert [key for key in en.MESSAGES if key.startswith(CATALOGUE) and key not in zh.MESSAGES] == []


def test_keys_of_the_replay_screens_and_deeds_are_there_in_chinese() -> None:
    places = (Place.PLAN, Place.REPLAY, Place.ASK, Place.SIDE)
    labels = {each.label for place in places for each in actions_of(place) if each.label not in ("", "pdb")}
    helps = {each.help for each in actions_of(Place.REPLAY) if each.id.startswith("live.")}
    assert sorted(each for each in labels | helps | {deed.value for deed in Deed} if each not in PHRASES) == []


@pytest.mark.wide
def test_nothing_is_translated_that_is_not_said_any_more() -> None:
    said = {text for path in SOURCE.rglob("*.py") if path.parent.name != "i18n" for text in literals(path)}
    whole = "\n".join(said)
    placed = [pattern(text) for text in said if "{}" in text and (_WORDS.search(text) or text.startswith("‖"))]
    for text in PHRASES:
        longest = max(re.split(r"\{\w+\}", text), key=len).strip(" ,")
        assert longest in whole or any(each.fullmatch(places_alike(text).strip(" ,")) for each in placed), text


def test_places_agree_and_phrases_are_single() -> None:
    for english, own in PHRASES.items():
        assert set(re.findall(r"\{(\w+)\}", own)) <= set(re.findall(r"\{(\w+)\}", english)), english
        assert "; " not in english or "{" not in english, english


def test_a_phrase_is_put_together_from_its_parts() -> None:
    assert phrase(
        "the same call: its recorded result; with other arguments its dry run if it has one, else refused"
    ) == ("相同的调用：采用记录的结果；参数不同则演练（若有），否则拒绝")
    assert phrase("before the checkpoint: the same but for ids") == "在检查点之前：除标识外相同"
    assert phrase("the child was ended by SIGSEGV before the agent returned") == "智能体返回之前，子进程被 SIGSEGV 终止"
    assert phrase("path a → b; first difference: nobody knows {this}") == "路径 a → b；首个差异：nobody knows {this}"
    assert phrase("something that nobody said") == "something that nobody said"
    assert phrase("") == ""


def test_english_stays_as_it_is() -> None:
    choose_language("en")
    assert phrase("not in the record") == "not in the record"
    assert FINAL not in PHRASES


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "step 3, tool look: $.a expected 1, got 2; model m: not in the record; "
            "nearest recorded call: step 4, model m, $.b: x there, y here",
            "步骤 3，tool look：$.a 应为 1，实为 2；model m：不在记录中；"
            "最接近的记录调用：步骤 4，model m，$.b：那里是 x，这里是 y",
        ),
        (
            "nearest recorded call: step 4, model m, $.b: first; second there, y here",
            "最接近的记录调用：步骤 4，model m，$.b: first; second there, y here",
        ),
        ("nobody knows this; nor that", "nobody knows this; nor that"),
    ],
)
def test_sentences_that_are_joined_are_told_apart_from_what_is_recorded(english: str, chinese: str) -> None:
    choose_language("zh")
    try:
        assert phrase(english) == chinese
    finally:
        choose_language("en")
