"""Prices and verdicts in words."""

from __future__ import annotations

import pytest

from agentdbg.cli.asktext import dollar_words, price_words
from agentdbg.replay.ask import estimate
from tests.support.asking import question, recorded


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(0.0, "$0.00"), (12.345, "$12.35"), (0.1, "$0.10"), (0.0123, "$0.0123"), (0.000001, "< $0.0001")],
)
def test_sums(dollars: float, words: str) -> None:
    assert dollar_words(dollars) == words


def test_an_unknown_price_is_said() -> None:
    assert "unknown" in price_words(estimate(question(recorded()), 2))
