"""Texts in which the built-in rules find nothing, for all runs of a process: a server sends its prompts every time.

What a rule finds depends on the text alone, and so does that none finds anything; what a run has learned is looked for
in each run. Only what is clean is kept, never what was found.
"""

from __future__ import annotations

import threading

from agentdbg.redaction.engine import scan
from agentdbg.redaction.span import Span

MOST_TEXTS = 4096
MOST_CHARS = 4_000_000
LONGEST = 500_000

_texts: dict[str, None] = {}
_chars = 0
_lock = threading.Lock()


def found_by_rules(text: str, seconds: float) -> list[Span]:
    """What the built-in rules find in a text, as ``scan`` gives it."""
    if text in _texts:
        return []
    found = scan(text, (), seconds)
    if not found and len(text) <= LONGEST:
        _keep(text)
    return found


def _keep(text: str) -> None:
    global _chars
    if not _lock.acquire(False):
        return  # another thread keeps one, or did when this process was forked: this text is looked at again
    try:
        if len(_texts) >= MOST_TEXTS or _chars + len(text) > MOST_CHARS:
            _texts.clear()
            _chars = 0
        _texts[text] = None
        _chars += len(text)
    finally:
        _lock.release()
