"""Numbers that identify people: phones, cards, ids, accounts. Found through digit shapes, not through words."""

from __future__ import annotations

import re
from functools import cache

from agentdbg.redaction import checks, names
from agentdbg.redaction.span import Span


def _shape_table() -> bytes:
    table = bytearray(b"?" * 256)
    table[0x30:0x3A] = b"0" * 10
    table[0x41:0x5B] = b"A" * 26
    table[0x61:0x7B] = b"a" * 26
    table[0x5F] = 0x61
    for char in b".+()":
        table[char] = char
    for char in b" -":
        table[char] = 0x2D
    return bytes(table)


SHAPE = _shape_table()
"""Bytes → shape: digits ``0``, letters ``A``/``a``, space and hyphen ``-``, ``. + ( )`` themselves."""

LONG_RUN = b"0" * 11
_FRACTION, _FRACTION_MASK = b"." + LONG_RUN, b"." + b"a" * 11
_PAIR = b"000-0000"
_GROUPS = ((_PAIR, "grouped"), (b"0000-000000-0", "grouped"), (b"000.000.0000", "us"), (b"000-00-0000", "us_ssn"))
_WORD = frozenset(b"0Aa")
_REACH = 18
FEWEST_DIGITS = 9


@cache
def _zeros() -> re.Pattern[bytes]:
    return re.compile(rb"0+")


@cache
def _grouped() -> dict[str, re.Pattern[str]]:
    left, right = r"(?<![A-Za-z0-9_])(?<![0-9][.\-])", r"(?![A-Za-z0-9_])(?![.\-][0-9])"
    phone = r"(?P<phone>(?:\+?86[ \-]?)?1[3-9][0-9](?P<p>[ \-])[0-9]{4}(?P=p)[0-9]{4})"
    card = (
        r"(?P<card>[0-9]{4}(?P<c>[ \-])[0-9]{4}(?P=c)[0-9]{4}(?P=c)[0-9]{1,4}(?:(?P=c)[0-9]{3})?"
        r"|3[0-9]{3}(?P<a>[ \-])[0-9]{6}(?P=a)[0-9]{4,5})"
    )
    us = (
        r"(?P<us>(?:\+?1[ \-.]?)?(?:\([2-9][0-9]{2}\)[ \-]?[2-9][0-9]{2}[\-. ]"
        r"|[2-9][0-9]{2}(?P<u>[\-. ])[2-9][0-9]{2}(?P=u))[0-9]{4})"
    )
    return {
        "grouped": re.compile(f"{left}(?:{phone}|{card}|{us}){right}"),
        "us": re.compile(f"{left}{us}{right}"),
        "us_ssn": re.compile(f"{left}(?P<us_ssn>[0-9]{{3}}-[0-9]{{2}}-[0-9]{{4}}){right}"),
        "plus": re.compile(
            r"(?<![A-Za-z0-9_+/.])\+[1-9][0-9]{0,14}(?:[ \-.]?\([0-9]{1,4}\)[ \-.]?[0-9]{2,14})?"
            r"(?:[ \-.][0-9]{2,14}){0,6}(?![A-Za-z0-9_])"
        ),
        "iban": re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{1,4}){2,8}"),
    }


def kind_of_digits(digits: str) -> str | None:
    """Return what an unseparated run of digits (or 17 digits and X) is, or None."""
    n = len(digits)
    if n == 11:
        return "phone" if digits[0] == "1" and digits[1] in "3456789" and len(set(digits)) > 2 else None
    if n == 13 and digits.startswith("861") and digits[3] in "3456789" and len(set(digits)) > 3:
        return "phone"
    if n == 18 and checks.cn_id(digits):
        return "cn_id"
    return "card" if digits.isdigit() and checks.card(digits) else None


def may_be_found(shape: bytes) -> bool:
    """Return whether any shape occurs at which numbers are looked for; False means that there are none."""
    if LONG_RUN in shape or b"+0" in shape or b"AA00" in shape:
        return True
    for needle, _ in _GROUPS[1:]:
        if needle in shape:
            return True
    at = shape.find(_PAIR)
    while at >= 0:
        if _is_third(shape, at):
            return True
        at = shape.find(_PAIR, at + 4)
    return False


def _is_third(shape: bytes, at: int) -> bool:
    """Whether two groups of digits, 3 and 4, have another beside them: a phone or card number has three at least."""
    before = shape[max(0, at - 4) : at]
    return before == b"000-" or before.endswith((b")", b")-")) or shape.startswith(b"-0000", at + 8)


def scan_numbers(text: str, data: bytes, found: list[Span]) -> None:
    """Append what is found in ``text``; ``data`` is the same text, one byte a character."""
    shape = data.translate(SHAPE)
    if len(shape) < 512 and shape.count(b"0") < FEWEST_DIGITS:
        return
    if shape.find(LONG_RUN) >= 0:
        _scan_long(text, shape, found)
    for needle, name in _GROUPS:
        at = shape.find(needle)
        while at >= 0:
            pair = needle is _PAIR and not _is_third(shape, at)
            at = shape.find(needle, at + 4 if pair else _group_at(text, at, name, found))
    if shape.find(b"+0") >= 0:
        _scan_plus(text, shape, found)
    if shape.startswith(b"AA00"):
        _iban_at(text, 0, found)
    for needle in (b"?AA00", b"-AA00"):
        at = shape.find(needle)
        while at >= 0:
            _iban_at(text, at + 1, found)
            at = shape.find(needle, at + 5)


def _scan_long(text: str, shape: bytes, found: list[Span]) -> None:
    """Runs of 11 and more digits, but no fractions and no parts of words."""
    shape = shape.replace(_FRACTION, _FRACTION_MASK)
    at = shape.find(LONG_RUN)
    while at >= 0:
        match = _zeros().match(shape, at)
        end = match.end() if match is not None else at + 11
        if end - at <= 19 and (at == 0 or shape[at - 1] not in b"0Aa."):
            last = shape[end : end + 2]
            stop = end + 1 if end - at == 17 and text[end : end + 1] in {"X", "x"} else end
            free = shape[stop : stop + 1] not in {b"0", b"A", b"a"} and last != b".0"
            kind = kind_of_digits(text[at:stop]) if free and not _counted(text, at) else None
            if kind is not None:
                found.append(Span(at, stop, kind, text[at:stop]))
        at = shape.find(LONG_RUN, end)


def _counted(text: str, at: int) -> bool:
    """Return whether the number at this place stands under a name that says quantity or time."""
    if text[at - 1 : at] not in {":", "=", " ", "-"}:
        return False
    match = _name().search(text, max(0, at - 80), at)
    return match is not None and names.counts(match.group(1))


@cache
def _name() -> re.Pattern[str]:
    return re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,40})[\"']?[ ]{0,2}[:=][ ]{0,2}-?\Z")


def _group_at(text: str, at: int, name: str, found: list[Span]) -> int:
    """Try the grouped rules around a shape hit; return where to look on."""
    match = _grouped()[name].search(text, max(0, at - _REACH), at + 2 * _REACH)
    if match is None:
        return at + 4
    kind = next(k for k in ("phone", "card", "us", "us_ssn") if k in match.re.groupindex and match.group(k) is not None)
    value = match.group()
    end = max(match.end(), at + 4)
    if text[match.end() : match.end() + 1].isalnum() and text[match.end()].isascii():
        return at + 4
    if kind == "card" and not checks.card("".join(filter(str.isdigit, value))):
        return at + 4
    if kind == "us_ssn" and not checks.us_ssn(value):
        return at + 4
    found.append(Span(match.start(), match.end(), "phone" if kind == "us" else kind, value))
    return end


def _scan_plus(text: str, shape: bytes, found: list[Span]) -> None:
    pattern = _grouped()["plus"]
    at = shape.find(b"+0")
    while at >= 0:
        match = pattern.match(text, at)
        step = at + 2
        if match is not None:
            value = _international(match.group())
            if value:
                found.append(Span(at, at + len(value), "phone", value))
                step = at + len(value)
        at = shape.find(b"+0", step)


def _international(value: str) -> str:
    """Return the longest number in groups of digits that may be several numbers, or nothing."""
    while value:
        digits = "".join(filter(str.isdigit, value))
        if checks.international_phone(digits, len(value) > len(digits) + 1):
            return value
        value = value[: max(0, *(value.rfind(c) for c in " -."))].rstrip(" -.")
    return ""


def _iban_at(text: str, at: int, found: list[Span]) -> None:
    length = checks.iban_length(text[at : at + 2])
    if not length:
        return
    match = _grouped()["iban"].match(text, at)
    if match is None:
        return
    taken, end = 0, at
    for end in range(at, match.end()):
        taken += text[end] != " "
        if taken == length:
            break
    end += 1
    following = text[end : end + 1]
    value = text[at:end]
    if taken == length and not (following.isascii() and following.isalnum()) and checks.iban(value.replace(" ", "")):
        found.append(Span(at, end, "iban", value))
