"""EXACT or LIVE, for as long as a replay is on screen, and that it was edited."""

from __future__ import annotations

from typing import Final

from agentdbg.debugging.document import Span, Tone, span
from agentdbg.i18n.catalogue import message
from agentdbg.model.records import Mode

MODE_WORDS: Final = {Mode.EXACT: "EXACT", Mode.REGRESSION: "LIVE"}
_TONES: Final = {Mode.EXACT: Tone.OK, Mode.REGRESSION: Tone.ERROR}


def mode_spans(mode: str, edits: int = 0) -> list[Span]:
    """A mode for a status line; nothing for a recorded run."""
    word = MODE_WORDS.get(Mode(mode))
    if word is None:
        return []
    edited = [span(f" {message('live.edited', count=edits)} ", Tone.WARN)] if edits else []
    return [span(f" {word} ", _TONES[Mode(mode)]), *edited]
