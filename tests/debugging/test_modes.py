"""EXACT and LIVE are told apart by word and tone."""

from __future__ import annotations

from agentdbg.debugging.document import Tone
from agentdbg.debugging.modes import mode_spans


def test_modes() -> None:
    assert mode_spans("recorded") == []
    assert [(each.text, each.tone) for each in mode_spans("exact")] == [(" EXACT ", Tone.OK)]
    assert [each.text for each in mode_spans("regression", 2)] == [" LIVE ", " EDITED: 2 "]
