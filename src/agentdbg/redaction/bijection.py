"""Comparing texts of two runs that were redacted under different keys."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentdbg.redaction.placeholder import OPEN, pattern


class PlaceholderBijection:
    """Matches placeholders by kind and length, one to one, over a whole run.

    Attributes:
        identity_unknown: True once two different digests were matched: that the values are equal is not known then.
    """

    def __init__(self, kid_a: str = "", kid_b: str = "?") -> None:
        """Make an empty mapping; equal key names (but never ephemeral ones) require equal placeholders."""
        self._exact = kid_a == kid_b and kid_a not in {"", "ephemeral"}
        self._forth: dict[str, str] = {}
        self._back: dict[str, str] = {}
        self._ints_a: dict[str, str] = {}
        self._ints_b: dict[str, str] = {}
        self.identity_unknown = False

    def surrogates(self, a: Iterable[tuple[int, str]], b: Iterable[tuple[int, str]]) -> None:
        """Tell which integers of either run stand for redacted ones (``Gate.surrogates``)."""
        self._ints_a.update((str(n), p) for n, p in a)
        self._ints_b.update((str(n), p) for n, p in b)

    def same(self, a_text: str, b_text: str) -> bool:
        """Return whether two texts are equal up to the mapping; the mapping grows only when they are.

        A placeholder always matches itself.
        """
        if a_text == b_text and (self._exact or (OPEN not in a_text and not self._ints_a and not self._ints_b)):
            return True
        if self._exact:
            return False
        a_parts, a_marks = _split(a_text, self._ints_a)
        b_parts, b_marks = _split(b_text, self._ints_b)
        if a_parts != b_parts or len(a_marks) != len(b_marks):
            return False
        return self._match(list(zip(a_marks, b_marks, strict=True)))

    def _match(self, pairs: list[tuple[str, str]]) -> bool:
        forth: dict[str, str] = {}
        back: dict[str, str] = {}
        for a, b in pairs:
            if a == b:
                continue  # served from the other run: it may stand beside the own placeholder of the same value
            if _shape(a) != _shape(b):
                return False
            if self._forth.get(a, forth.setdefault(a, b)) != b or self._back.get(b, back.setdefault(b, a)) != a:
                return False
            if forth[a] != b or back[b] != a:
                return False
        self._forth.update(forth)
        self._back.update(back)
        self.identity_unknown = self.identity_unknown or any(a != b for a, b in pairs)
        return True


def _shape(mark: str) -> str:
    return mark.rpartition(":")[0]


def _split(text: str, ints: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the texts between placeholders, and the placeholders; a surrogate integer counts as its placeholder."""
    parts: list[str] = []
    marks: list[str] = []
    last = 0
    if OPEN in text:
        for match in pattern().finditer(text):
            _numbers(text[last : match.start()], ints, parts, marks)
            marks.append(match.group())
            last = match.end()
    _numbers(text[last:], ints, parts, marks)
    return parts, marks


def _numbers(text: str, ints: dict[str, str], parts: list[str], marks: list[str]) -> None:
    last = 0
    if ints:
        for match in re.finditer(r"(?<![A-Za-z0-9_.])[0-9]{6,}(?![A-Za-z0-9_])", text):
            mark = ints.get(match.group())
            if mark is not None:
                parts += (text[last : match.start()], "#")
                marks.append(mark)
                last = match.end()
    parts.append(text[last:])
