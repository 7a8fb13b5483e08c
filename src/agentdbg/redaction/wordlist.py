"""Word lists in source: written as running text, used as sets."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())
