"""Tells quickly, and for a whole value at once, that no rule can find anything in it: the usual case of a tool call."""

from __future__ import annotations

from typing import cast

from agentdbg.redaction import decode, names, numbers
from agentdbg.redaction.context import CJK_WORDS, WORDS
from agentdbg.redaction.memory import Known
from agentdbg.redaction.placeholder import OPEN
from agentdbg.redaction.rules import FIND_RULES, MIN_TOKEN
from agentdbg.redaction.vocabulary import Vocabulary

SMALL_NUMBER = 99_999
_MOST_KNOWN = 64
_LONGEST = 65_536
_TOKEN = bytes(0x61 if chr(c).isascii() and (chr(c).isalnum() or chr(c) in "_-") else 0x3F for c in range(256))
_LONG_TOKEN = b"a" * MIN_TOKEN
_SIGNS = (b"\\", b"%", b"@")
_WORDS = Vocabulary((*WORDS, b"bearer", b"basic", b"mysql"))
_ANCHORS = (b"-----begin ", b"-signature=", b"x-amz-security")
_FOUND = tuple(anchor.encode() for rule in FIND_RULES for anchor in rule.anchors)


def is_dull(data: bytes, tree: object, known: list[Known]) -> bool:
    """Return whether a value certainly holds nothing to redact; False says nothing.

    A rule finds something in a text only where certain characters stand. None of them stands in any of the texts when
    none stands in the JSON of the value, in which the texts stand as they are, as long as nothing in it is escaped.

    Args:
        data: The value as JSON.
        tree: The value itself, plain JSON.
        known: What the run remembers.
    """
    if len(data) > _LONGEST or len(known) > _MOST_KNOWN:
        return False
    text = data.decode()
    if not data.isascii() and (OPEN in text or decode.visible(text) or any(word in text for word in CJK_WORDS)):
        return False
    if any(sign in data for sign in _SIGNS) or _LONG_TOKEN in data.translate(_TOKEN):
        return False
    if _WORDS.tells(data) or any(anchor in data for anchor in _FOUND):
        return False
    lower = data.lower()
    if any(anchor in lower for anchor in _ANCHORS) or any(s in data and s + b"sig" in lower for s in (b"?", b"&")):
        return False
    if numbers.may_be_found(data.translate(numbers.SHAPE)) or decode.may_hold_base64(data):
        return False
    return all(entry.form not in text for entry in known) and _is_ordinary(tree)


def _is_ordinary(tree: object) -> bool:
    """Whether no field's name and no number says that something must go."""
    rest = [tree]
    while rest:
        item = rest.pop()
        kind = type(item)
        if kind is dict:
            mapping = cast("dict[str, object]", item)
            if any(map(names.strength, mapping)):
                return False
            rest.extend(child for child in mapping.values() if type(child) is not str)
        elif kind is list:
            rest.extend(child for child in cast("list[object]", item) if type(child) is not str)
        elif (kind is int or kind is float) and not -SMALL_NUMBER <= cast(float, item) <= SMALL_NUMBER:
            return False
    return True
