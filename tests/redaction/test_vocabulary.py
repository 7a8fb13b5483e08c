"""A word inside of another is found, whatever was looked at before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.redaction.vocabulary import Vocabulary

TELLING = (b"key", b"token")
PIECES = ["key", "KeY", "to", "ken", "kenny", "monkey", "a", " ", "-", "0", "é", "order"]


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), max_size=6))
def test_it_tells_what_looking_for_every_word_tells(texts: list[str]) -> None:
    words = Vocabulary(TELLING)
    for text in texts:
        data = text.encode()
        assert words.tells(data) == any(word in data.lower() for word in TELLING)
