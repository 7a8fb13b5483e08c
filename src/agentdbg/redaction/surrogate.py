"""Integers that stand for redacted integers: as many digits, and no rule takes them for anything."""

from __future__ import annotations

import hashlib
import hmac

from agentdbg.redaction.checks import luhn
from agentdbg.redaction.keys import RedactionKey
from agentdbg.redaction.numbers import kind_of_digits


def surrogate(key: RedactionKey, kind: str, number: int) -> int:
    """Return the integer that stands for ``number``: keyed, same sign and digits, leading digit 9, Luhn fails."""
    size = len(str(abs(number)))
    message = b"int\0" + kind.encode() + b"\0" + str(number).encode()
    seed = int.from_bytes(hmac.digest(key.secret, message, hashlib.sha256), "big")
    unit: int = 10 ** (size - 1)
    candidate = 9 * unit + seed % unit
    while luhn(str(candidate)) or kind_of_digits(str(candidate)) is not None or candidate == abs(number):
        candidate = 9 * unit + (candidate + 7) % unit
    return -candidate if number < 0 else candidate
