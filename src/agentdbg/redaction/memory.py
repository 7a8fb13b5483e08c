"""The run's memory: what was redacted once in a run is redacted wherever it turns up again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from agentdbg.redaction import names
from agentdbg.redaction.span import Span
from agentdbg.redaction.wordlist import words

SHORTEST = 6
_DIRECT = 96
_COMMON = words(
    "bearer string number default example changeme unknown admin administrator username localhost return public "
    "private header headers cookie content message messages system assistant function arguments object integer "
    "boolean required enabled disabled anonymous account customer production development staging testing "
    "not-needed not_needed no-key test-key dummy-key fake-key"
)


class Known(NamedTuple):
    """One remembered value. ``bounded``: it is a common-looking word, replaced only where it stands alone."""

    form: str
    kind: str
    value: str
    bounded: bool
    placeholder: str = ""


@cache
def _handle() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z0-9]{4,}")


@cache
def _bounded(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9_]){re.escape(form)}(?![A-Za-z0-9_])")


class Memory:
    """Values, each with its kind. Not synchronised: its gate holds the lock while it changes."""

    __slots__ = ("_by_handle", "_direct", "_forms", "order")

    def __init__(self) -> None:
        self.order: list[Known] = []
        self._forms: dict[str, Known] = {}
        self._direct: list[Known] = []
        self._by_handle: dict[str, tuple[Known, ...]] = {}

    def get(self, value: str) -> Known | None:
        """Return what is known about exactly this text."""
        return self._forms.get(value)

    def learn(self, kind: str, value: str) -> None:
        """Remember a value with its JSON-escaped and percent-encoded forms."""
        if len(value) < SHORTEST or value in self._forms or not _worth(value):
            return
        from urllib.parse import quote, quote_plus

        letters = value.replace("-", "").replace("_", "")
        word = letters.isalpha() and (letters.islower() or letters.istitle() or letters.isupper()) and len(value) < 16
        bounded = word or (value.isdigit() and len(value) < 8)
        forms = {value: None, json.dumps(value)[1:-1]: None, json.dumps(value, ensure_ascii=False)[1:-1]: None}
        forms[quote(value, safe="", errors="replace")] = None
        forms[quote_plus(value, errors="replace")] = None
        for form in forms:
            if form not in self._forms:
                self._add(Known(form, kind, value, bounded))

    def adopt(self, form: str, kind: str, placeholder: str) -> None:
        """Remember a served stand-in, to be replaced by a placeholder made elsewhere."""
        if form not in self._forms:
            self._add(Known(form, kind, form, False, placeholder))

    def _add(self, known: Known) -> None:
        self._forms[known.form] = known
        self.order.append(known)
        handles = _handle().findall(known.form)
        if len(self._direct) < _DIRECT or not handles or len(known.form) - len(max(handles, key=len)) > 24:
            self._direct.append(known)
            return
        handle = max(handles, key=len)
        self._by_handle[handle] = (*self._by_handle.get(handle, ()), known)

    def since(self, generation: int) -> list[Known]:
        """Return what was learned after the memory had ``generation`` entries."""
        return self.order[generation:]

    def find(self, text: str) -> list[Span]:
        """Return where known values stand in a text."""
        found: list[Span] = []
        for known in self._direct:
            if known.form in text:
                found.extend(occurrences(known, text))
        if self._by_handle and len(text) >= SHORTEST:
            for handle in self._handles(text):
                for known in self._by_handle[handle]:
                    found.extend(occurrences(known, text))
        return found

    def _handles(self, text: str) -> Iterator[str]:
        for word in set(_handle().findall(text)):
            if word in self._by_handle:
                yield word


def occurrences(known: Known, text: str) -> list[Span]:
    """Return the places of one value."""
    size = len(known.form)
    if known.bounded:
        return [Span(m.start(), m.end(), known.kind, known.value) for m in _bounded(known.form).finditer(text)]
    out: list[Span] = []
    at = text.find(known.form)
    while at >= 0:
        out.append(Span(at, at + size, known.kind, known.value))
        at = text.find(known.form, at + size)
    return out


def _worth(value: str) -> bool:
    """Return whether replacing a value everywhere would not destroy the record: no field names, no everyday words."""
    return value.lower() not in _COMMON and not names.strength(value) and len(set(value)) > 2 and "⟦" not in value
