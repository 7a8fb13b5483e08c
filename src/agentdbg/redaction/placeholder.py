"""Placeholders: what stands in the record where a secret stood."""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import cache

from agentdbg.redaction.keys import RedactionKey

OPEN = "⟦R:"
SOURCE = r"⟦R:([a-z][a-z0-9_]{0,31}):([0-9]{1,9}):([0-9a-f]{12})⟧"


@cache
def pattern() -> re.Pattern[str]:
    """Return the compiled placeholder pattern; its groups are kind, length, digest."""
    return re.compile(SOURCE)


def __getattr__(name: str) -> re.Pattern[str]:
    if name == "PATTERN":
        return pattern()
    raise AttributeError(name)


def digest12(key: RedactionKey, kind: str, value: str) -> str:
    """Return the keyed digest of a value: equal values of a kind, and only those, share it."""
    message = kind.encode() + b"\0" + value.encode("utf-8", "surrogatepass")
    return hmac.digest(key.secret, message, hashlib.sha256).hex()[:12]


def make(kind: str, length: int, digest: str) -> str:
    """Return the placeholder text."""
    return f"⟦R:{kind}:{length}:{digest}⟧"


def strip_digests(text: str) -> str:
    """Reduce each placeholder to kind and length, which is what fingerprints hash."""
    if OPEN not in text:
        return text
    return pattern().sub(r"⟦R:\1:\2⟧", text)


_COLON = "(?::|%3A)"
_ESCAPED = SOURCE.replace(":", _COLON).replace("⟦", r"(?:\\+u27e6|%E2%9F%A6)").replace("⟧", r"(?:\\+u27e7|%E2%9F%A7)")


@cache
def _escaped() -> re.Pattern[str]:
    return re.compile(_ESCAPED, re.IGNORECASE)


def unescape(text: str) -> str:
    """Write placeholders that a program escaped for JSON or an address plainly: what they stand for had no escapes."""
    if "27e6R" not in text and "27E6R" not in text and "%9F%A6R" not in text and "%9f%a6R" not in text:
        return text
    return _escaped().sub(r"⟦R:\1:\2:\3⟧", text)
