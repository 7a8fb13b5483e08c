"""What model calls cost."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest

import agentdbg.config.prices
from agentdbg.config.prices import price_of, table_date


def test_the_shipped_table_is_dated_and_every_price_is_a_pair() -> None:
    date.fromisoformat(table_date())
    file = Path(agentdbg.config.prices.__file__).with_name("prices.toml")
    for name, pair in tomllib.loads(file.read_text())["models"].items():
        assert name == name.lower()
        assert len(pair) == 2
        assert 0 < pair[0] <= pair[1]


@pytest.mark.parametrize("name", ["gpt-4o", "openai/gpt-4o", "gpt-4o-2024-08-06", "GPT-4o", "openai/gpt-4o-latest"])
def test_releases_and_relayed_names_have_the_price_of_the_model(name: str) -> None:
    price = price_of(name)
    assert price is not None
    assert (price.input, price.output) == (2.5, 10)
    assert table_date() in price.source


@pytest.mark.parametrize("name", ["", "gpt-4o-mini-tts", "gpt-4", "my-model", "gpt-4o-mine"])
def test_another_model_never_gets_the_price_of_one_with_a_similar_name(name: str) -> None:
    price = price_of(name)
    assert price is None or (name == "gpt-4" and price.input == 30)


def test_the_users_own_price_goes_before_the_table() -> None:
    price = price_of("gpt-4o-2024-08-06", {"gpt-4o": "1/2"})
    assert price is not None
    assert price.of(1_000_000, 500_000) == 2.0
    assert price.source == "your settings"


@pytest.mark.parametrize("text", ["", "1", "a/b", "1/2/3", "-1/2", "nan/1"])
def test_an_own_price_that_cannot_be_read_is_as_if_it_were_not_there(text: str) -> None:
    assert price_of("mine", {"mine": text}) is None
