"""Tones become styles, whatever a theme leaves out."""

from __future__ import annotations

from agentdbg.debugging.document import Tone
from agentdbg.ui.tones import CURSOR, DEFAULTS, PREFIX, background, palette_of


def test_every_tone_has_a_style_and_a_fallback() -> None:
    assert {f"{PREFIX}{tone}" for tone in Tone} <= DEFAULTS.keys()
    palette = palette_of({"primary": "#010203", "tone-dim": "nonsense", "secondary": "#040506"})
    assert set(palette) == set(Tone)
    names = [color.name if (color := palette[tone].color) else None for tone in (Tone.MODEL, Tone.DIM, Tone.PLAIN)]
    assert names == ["#010203", "#040506", None]


def test_emphasis_does_not_hang_on_colour_alone() -> None:
    palette = palette_of({})
    assert all(palette[tone].bold for tone in (Tone.ERROR, Tone.HEADING, Tone.STRONG))


def test_backgrounds() -> None:
    style = background({CURSOR: "#112233"}, CURSOR)
    assert style.bgcolor is not None
    assert style.bgcolor.name == "#112233"
