"""Words that were looked at: looking them up is several times as fast as looking for every telling word in a text."""

from __future__ import annotations

_MOST = 20_000
_LETTERS = bytes(c if 0x61 <= c <= 0x7A else c + 32 if 0x41 <= c <= 0x5A else 0x20 for c in range(256))


class Vocabulary:
    """Finds out whether any of some words stands in a text, be it inside of another word."""

    def __init__(self, telling: tuple[bytes, ...]) -> None:
        """Take the words, in lower-case ASCII letters."""
        self._telling = telling
        self._harmless: set[bytes] = set()

    def tells(self, data: bytes) -> bool:
        """Return whether one of the words occurs."""
        found = data.translate(_LETTERS).split()
        if self._harmless.issuperset(found):
            return False
        new = set(found) - self._harmless
        joined = b" ".join(new)
        for word in self._telling:
            if word in joined:
                return True
        if len(self._harmless) > _MOST:
            self._harmless = set()
        if len(joined) < _MOST:
            self._harmless |= new
        return False
