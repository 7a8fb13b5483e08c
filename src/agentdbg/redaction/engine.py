"""The engine: one text in, its secrets out. Pure; the run's memory and the placeholders are the gate's."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import cache

from agentdbg.redaction import decode
from agentdbg.redaction.context import scan_context
from agentdbg.redaction.numbers import FEWEST_DIGITS, LONG_RUN, SHAPE, scan_numbers
from agentdbg.redaction.rules import FIND_RULES, MIN_TOKEN, TELEGRAM, Rule, compiled, token_rules
from agentdbg.redaction.span import Span, merge

_TOKEN = bytes(0x61 if chr(c).isascii() and (chr(c).isalnum() or chr(c) in "_-") else 0x3F for c in range(256))
_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_NEEDLE = b"a" * MIN_TOKEN
_SHORTEST = 6
_DENSE = 2048
_SMALL = 128


class BudgetExceeded(Exception):
    """Scanning one value took too long."""


class Budget:
    """Processor time that one value may take; checked between passes, and only for long texts."""

    __slots__ = ("_end",)

    def __init__(self, length: int, seconds: float) -> None:
        self._end = time.thread_time() + seconds * (1 + length / 1_000_000) if length > 65_536 else None

    def check(self) -> None:
        """Raise ``BudgetExceeded`` when the time is up."""
        if self._end is not None and time.thread_time() > self._end:
            raise BudgetExceeded


def scan(text: str, extra: Sequence[Rule] = (), seconds: float = 2.0) -> list[Span]:
    """Return the secrets in a text, sorted, not overlapping."""
    if len(text) < _SHORTEST or (len(text) < MIN_TOKEN and text.isidentifier() and text.isascii() and not extra):
        return []
    data = text.encode("latin-1", "replace")
    if len(data) < _SMALL and not extra and text.isascii() and _is_dull(data):
        return []
    budget = Budget(len(text), seconds)
    found: list[Span] = []
    _scan_plain(text, data, extra, budget, found)
    plain = len(found)
    for decoder in (decode.visible, decode.unquoted, decode.unescaped):
        _scan_decoded(text, decoder, extra, budget, found)
    if plain:
        found = _without_escape_letters(text, found[:plain], found[plain:])
    for start, end, inner in decode.base64_runs(text, data):
        if _holds_secret(inner, extra, budget):
            found.append(Span(start, end, "base64", text[start:end]))
    return merge(found, text)


def _is_dull(data: bytes) -> bool:
    """Return whether a short ASCII text has nothing that any rule begins with."""
    if len(data.translate(None, b"@:=\\%+`\"'")) != len(data):
        return False
    shape = data.translate(SHAPE)
    if shape.count(b"0") >= FEWEST_DIGITS and not (data.isalnum() and shape.find(LONG_RUN) < 0):
        return False
    if data.translate(_TOKEN).find(_NEEDLE) >= 0 or b"AA00" in shape or b"-----" in data:
        return False
    if b" " not in data:
        return True
    lower = data.lower()
    return (
        b" is " not in lower
        and b" was " not in lower
        and b" are " not in lower
        and b"earer" not in lower
        and (b"basic" not in lower and b"mysql" not in lower)
    )


def _scan_plain(text: str, data: bytes, extra: Sequence[Rule], budget: Budget, found: list[Span]) -> None:
    shape = data.translate(_TOKEN)
    _scan_tokens(text, shape, data, found)
    budget.check()
    scan_numbers(text, data, found)
    budget.check()
    scan_context(text, data, shape, found)
    budget.check()
    for rule in FIND_RULES:
        _scan_rule(rule, text, found)
    for rule in extra:
        _scan_rule(rule, text, found)
        budget.check()


def _holds_secret(text: str, extra: Sequence[Rule], budget: Budget) -> bool:
    found: list[Span] = []
    _scan_plain(text, text.encode("latin-1", "replace"), extra, budget, found)
    return bool(found)


def _scan_decoded(
    text: str, decoder: decode.Decoder, extra: Sequence[Rule], budget: Budget, found: list[Span], layers: int = 3
) -> None:
    """Scan the parts of a text that hold escapes under the escapes, layer by layer."""
    for offset, view in decoder(text):
        inner: list[Span] = []
        _scan_plain(view.text, view.text.encode("latin-1", "replace"), extra, budget, inner)
        if layers > 1 and decoder is decode.unescaped:
            deeper: list[Span] = []
            _scan_decoded(view.text, decoder, extra, budget, deeper, layers - 1)
            inner = _without_escape_letters(view.text, inner, deeper)
        for span in inner:
            start, end, kind, value = view.back(span)
            found.append(Span(start + offset, end + offset, kind, value))


def _without_escape_letters(text: str, plain: list[Span], decoded: list[Span]) -> list[Span]:
    """Drop findings that begin with the ``n`` of a ``\\n`` where the decoded text shows where they really begin."""
    kept = [
        span
        for span in plain
        if text[span.start - 1 : span.start] != "\\"
        or not any(other.start < span.end and span.start < other.end for other in decoded)
    ]
    return kept + decoded


def _scan_tokens(text: str, shape: bytes, data: bytes, found: list[Span]) -> None:
    """Find every long run of token characters, then ask the rules that know its first two characters."""
    table = token_rules()
    at = shape.find(_NEEDLE)
    while at >= 0:
        end = shape.find(b"?", at)
        if end < 0:
            end = len(shape)
        before = data[at - 1] if at else 0x20
        rules = table.get(data[at : at + 2])
        if rules is not None and before not in _WORD:
            end = max(end, _match_token(text, at, rules, found))
        if before == 0x2E:
            start = shape.rfind(b"?", max(0, at - 65), at - 1) + 1
            rules = table.get(data[start : start + 2])
            if rules is not None and start < at - 1:
                end = max(end, _match_token(text, start, rules, found))
        elif before == 0x3A:
            end = max(end, _telegram(text, at, found))
        elif before in b"+/" and end - at < _DENSE:
            end = _skip_dense(data, at, end)
        at = shape.find(_NEEDLE, end)


def _skip_dense(data: bytes, at: int, end: int) -> int:
    """Leave a long base64 body at once: no token begins after its ``+`` and ``/``."""
    probe = data[at : at + _DENSE].translate(decode.BASE64)
    if len(probe) < _DENSE or b"?" in probe:
        return end
    match = _body().match(data, at)
    return match.end() if match is not None else end


@cache
def _body() -> re.Pattern[bytes]:
    return re.compile(rb"[A-Za-z0-9+/_-]*")


def _match_token(text: str, at: int, rules: tuple[tuple[str, Rule], ...], found: list[Span]) -> int:
    for anchor, rule in rules:
        if text.startswith(anchor, at):
            match = compiled(rule).match(text, at)
            if match is not None and (rule.validator is None or rule.validator(match.group())):
                found.append(Span(at, match.end(), rule.kind, match.group()))
                return match.end()
    return at


def _telegram(text: str, at: int, found: list[Span]) -> int:
    start = at - 1
    while start > 0 and at - start <= 10 and text[start - 1] in "0123456789":
        start -= 1
    match = compiled(TELEGRAM).match(text, start)
    if match is None:
        return at
    found.append(Span(start, match.end(), TELEGRAM.kind, match.group()))
    return match.end()


def _scan_rule(rule: Rule, text: str, found: list[Span]) -> None:
    for anchor in rule.anchors:
        at = text.find(anchor)
        while at >= 0:
            match = compiled(rule).match(text, at)
            step = at + len(anchor)
            if match is not None and match.end() > at and (rule.validator is None or rule.validator(match.group())):
                found.append(Span(at, match.end(), rule.kind, match.group()))
                step = max(step, match.end())
            at = text.find(anchor, step)
