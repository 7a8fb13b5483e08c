"""Words of the ask screen."""

from __future__ import annotations

import pytest

from agentdbg.config.prices import Price
from agentdbg.debugging.asking_pages import VERDICTS, price_words
from agentdbg.replay.ask import Estimate


@pytest.mark.parametrize(("dollars", "words"), [(250_000, "$0.25"), (1_000, "$0.0010"), (1, "< $0.0001"), (0, "$0.00")])
def test_prices(dollars: int, words: str) -> None:
    assert price_words(Estimate(1, dollars, 0, Price(1, 1, "mine"))) == f"about {words} (mine)"


def test_every_verdict_has_its_words() -> None:
    assert set(VERDICTS) == {"same", "changed", "flaky", "cannot_tell", "redacted", "failed"}
