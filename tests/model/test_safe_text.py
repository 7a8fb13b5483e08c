"""Recorded text cannot drive, hide in or reorder a terminal."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentdbg.model.safe_text import safe_block, safe_line

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "security" / "hostile_strings.json"


def bad_characters(text: str, *, block: bool) -> list[str]:
    """Characters of ``text`` that a terminal obeys, hides or reorders."""
    kept = "\n\t" if block else ""
    bad = []
    for before, char in zip(["", *text], text, strict=False):
        if char in kept:
            continue
        joiner_after_non_ascii = char in "\u200d\ufe0f" and before != "" and not before.isascii()
        hidden = unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or 0xFE00 <= ord(char) <= 0xFE0F
        if hidden and not joiner_after_non_ascii:
            bad.append(char)
    return bad


def corpus() -> list[dict[str, str]]:
    if not CORPUS.exists():
        pytest.skip("the hostile corpus is not here")
    entries: list[dict[str, str]] = json.loads(CORPUS.read_text())
    return entries


def test_corpus_leaves_no_bad_character() -> None:
    for entry in corpus():
        assert bad_characters(safe_line(entry["text"]), block=False) == [], entry["id"]
        assert bad_characters(safe_block(entry["text"]), block=True) == [], entry["id"]


def test_corpus_can_be_written_to_a_terminal() -> None:
    for entry in corpus():
        safe_line(entry["text"]).encode("utf-8")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]52;c;eA==\x07", "␛]52;c;eA==␇"),
        ("a\x7fb", "a␡b"),
        ("a\x9bb", "a\ufffdb"),
        ("a\ud99cb", "a\ufffdb"),
        ("user\u202egpj.exe", "user<U+202E>gpj.exe"),
        ("a\u200bb", "a<U+200B>b"),
        ("a\u200db", "a<U+200D>b"),
        ("a\ufe0fb", "a<U+FE0F>b"),
        ("hi\U000e0049", "hi<U+E0049>"),
        ("a\u3164b", "a<U+3164>b"),
        ("a\nb\tc", "a␊b␉c"),
        ("\u0301abc", "◌\u0301abc"),
        ("e" + "\u0301" * 100, "e" + "\u0301" * 4 + "<+96 marks>"),
    ],
)
def test_what_would_be_obeyed_or_hidden_is_visible(raw: str, shown: str) -> None:
    assert safe_line(raw) == shown


@pytest.mark.parametrize(
    "text",
    ["plain", "漢字かな", "👩\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "e\u0301", "naïve", "[/x] [@click=app.quit]"],
)
def test_honest_text_is_returned_as_it_is(text: str) -> None:
    assert safe_line(text) == text


def test_joiners_cannot_be_stacked_to_hide_data() -> None:
    assert safe_line("é\u200d\u200d") == "é\u200d<U+200D>"
    assert safe_line("é\ufe0f\ufe0f") == "é\ufe0f<U+FE0F>"


def test_block_keeps_lines_and_tabs() -> None:
    assert safe_block("a\r\n\tb\x00") == "a␍\n\tb␀"


@given(st.text(st.characters(), max_size=40))
@example("\u200d")
@example("\ufe0f\u200d")
def test_any_text_becomes_harmless_and_stays_so(text: str) -> None:
    for safe, block in ((safe_line, False), (safe_block, True)):
        once = safe(text)
        assert bad_characters(once, block=block) == []
        assert safe(once) == once
        once.encode("utf-8")


def test_every_mark_is_looked_for() -> None:
    for code in range(0x300, 0x20000):
        if unicodedata.category(chr(code)) in ("Mn", "Me"):
            assert safe_line(chr(code)) != chr(code), hex(code)
