"""A ticket is answered in its own language, and its goods are found in both."""

from __future__ import annotations

import pytest

from agentdbg.demo.desk import TICKETS
from agentdbg.demo.wording import CHINESE, ENGLISH, category_of, wording_for


def test_the_language_is_the_tickets() -> None:
    assert wording_for(str(TICKETS["T-2043"]["text"])) is CHINESE
    assert wording_for("Refund, please! 🙏 日") is CHINESE
    assert wording_for("Refund, please! 🙏") is ENGLISH


@pytest.mark.parametrize(
    ("ticket", "category"),
    [("Books, twice", "books"), ("这本书买重了", "books"), ("a Clothing item", "clothing"), ("A-1042", "electronics")],
)
def test_goods_are_recognised_in_both_languages(ticket: str, category: str) -> None:
    assert category_of(ticket) == category


def test_both_languages_have_the_same_plan() -> None:
    assert len(ENGLISH.plan.splitlines()) == len(CHINESE.plan.splitlines())
