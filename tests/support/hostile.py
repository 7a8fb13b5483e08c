"""Strings that attack a terminal, and what must never reach it."""

from __future__ import annotations

import json
import re
from pathlib import Path

_CORPUS = Path(__file__).parents[3] / "shared" / "data" / "security" / "hostile_strings.json"

FEW = (
    "\x1b]52;c;U0VOVElORUw=\x07",
    "\x1b[2J\x1b[H",
    "\x9b52;c;eA==\x9c",
    "user\u202egpj.exe\u2066x\u2069",
    "a\u200bb\ufeffc\U000e0041",
    "a\rb\nc\td\x00e\x7f",
    "\ud99c lone",
    "[@click=app.quit]x[/]",
    "[/x] [red]r[/red] \\[b] {0.__class__} %s",
    "e" + "\u0301" * 60,
    "漢字 👩\u200d👩\u200d👧 ❤\ufe0f",
)

FORBIDDEN = re.compile(
    "[\x00-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_STYLE = re.compile("\x1b\\[[0-9;]*m")


def hostile_strings() -> list[str]:
    """The corpus where it is here, and a few of our own in any case."""
    texts = [entry["text"] for entry in json.loads(_CORPUS.read_text())] if _CORPUS.exists() else []
    return [*FEW, *(text for text in texts if len(text) <= 600)]


def attacks(output: str) -> list[str]:
    """What is in rendered output besides text and colours."""
    text = _STYLE.sub("", output)
    found = FORBIDDEN.findall(text)
    return [*found, *("\x1b" for _ in range(text.count("\x1b")))]
