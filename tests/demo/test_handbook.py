"""The handbook search gives the same answer to the same question."""

from __future__ import annotations

from agentdbg.demo.handbook import SNIPPETS, search


def test_the_snippet_that_shares_most_words_comes_first() -> None:
    assert search("unread books within weeks", 1)[0]["id"] == "handbook-19"


def test_a_chinese_question_finds_the_chinese_snippet() -> None:
    assert search("这本书还没拆封，想退货 📚", 1)[0]["id"] == "handbook-21"


def test_equal_matches_come_in_a_fixed_order() -> None:
    assert [found["id"] for found in search("", len(SNIPPETS))] == sorted(snippet["id"] for snippet in SNIPPETS)


def test_callers_get_copies() -> None:
    search("books", 1)[0]["text"] = "changed"

    assert all(snippet["text"] != "changed" for snippet in SNIPPETS)
