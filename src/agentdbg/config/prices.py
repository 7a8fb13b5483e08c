"""What model calls cost: a dated table of list prices that ships with the program, and the user's own prices."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("prices.toml")
_RELEASE = re.compile(r"(-latest|[-@]20\d{2}-?\d{2}-?\d{2}|-0\d{2})$")
"""Ends of names that say which release of a model is meant; releases of one name have one price."""


@dataclass(frozen=True, slots=True)
class Price:
    """Attributes:
    input: US dollars per million tokens of input.
    output: The same of output.
    source: Where the price comes from, for people.
    """

    input: float
    output: float
    source: str

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars for that many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


def price_of(model: str, own: Mapping[str, str] | None = None) -> Price | None:
    """The price of a model; ``None`` where nobody knows it.

    Args:
        model: Its name, with or without the name of a provider before it.
        own: The user's prices: model to ``INPUT/OUTPUT``. One that cannot be read is as if it were not there.
    """
    date, table = _shipped()
    for name in _names(model):
        if (found := _own(own or {}, name)) is not None:
            return Price(*found, "your settings")
        if name in table:
            return Price(*table[name], f"prices of {date}")
    return None


def table_date() -> str:
    """The day that the shipped prices are of."""
    return _shipped()[0]


def _names(model: str) -> list[str]:
    """A model's name as it may stand in a table, the most exact one first."""
    name = model.strip().lower()
    bare = name.rpartition("/")[2]
    found = [name, bare, _RELEASE.sub("", bare)]
    return list(dict.fromkeys(found))


def _own(own: Mapping[str, str], name: str) -> tuple[float, float] | None:
    text = next((value for key, value in own.items() if key.lower() == name), "")
    parts = text.replace(",", "/").split("/")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return None
    if len(numbers) != 2 or not all(math.isfinite(number) and number >= 0 for number in numbers):
        return None
    return numbers[0], numbers[1]


@cache
def _shipped() -> tuple[str, Mapping[str, tuple[float, float]]]:
    read = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return str(read["date"]), {str(name): (float(pair[0]), float(pair[1])) for name, pair in read["models"].items()}
