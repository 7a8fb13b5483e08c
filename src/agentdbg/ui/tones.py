"""From the tones of a document to the styles of a theme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from weakref import WeakKeyDictionary

from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError

from agentdbg.debugging.document import Tone
from agentdbg.ui.text import Palette

PREFIX: Final = "tone-"
CURSOR: Final = "cursor-row"
CURSOR_BLURRED: Final = "cursor-row-blurred"

DEFAULTS: Final[Mapping[str, str]] = {
    "tone-plain": "foreground",
    "tone-dim": "secondary",
    "tone-label": "secondary",
    "tone-heading": "primary",
    "tone-strong": "foreground",
    "tone-accent": "accent",
    "tone-ok": "success",
    "tone-warn": "warning",
    "tone-error": "error",
    "tone-json-key": "primary",
    "tone-json-string": "success",
    "tone-json-number": "accent",
    "tone-json-literal": "accent",
    "tone-json-punctuation": "secondary",
    "tone-kind-model": "primary",
    "tone-kind-tool": "foreground",
    "tone-kind-structure": "secondary",
    "tone-kind-checkpoint": "success",
    "tone-effect-read": "secondary",
    "tone-effect-write": "warning",
    "tone-effect-external": "error",
    "tone-diff-removed": "error",
    "tone-diff-added": "success",
    CURSOR: "panel",
    CURSOR_BLURRED: "surface",
}
"""Each token of ours, and the base colour it falls back to when a theme does not set it."""

_palettes: WeakKeyDictionary[App[object], tuple[Mapping[str, str], Palette]] = WeakKeyDictionary()
_BOLD: Final = frozenset((Tone.HEADING, Tone.STRONG, Tone.ERROR, Tone.GONE, Tone.NEW))
_UNDERLINED: Final = frozenset((Tone.GONE, Tone.NEW))
"""What changed inside a line stands out without colours too."""


def palette_of(variables: Mapping[str, str]) -> Palette:
    """The style of every tone, from a theme's variables."""
    return {tone: _style(variables, tone) for tone in Tone}


def palette_for(app: App[object]) -> Palette:
    """The palette of an app's current theme, made once for each theme."""
    variables = app.theme_variables
    held = _palettes.get(app)
    if held is None or held[0] is not variables:
        held = _palettes[app] = (variables, palette_of(variables))
    return held[1]


def background(variables: Mapping[str, str], token: str) -> Style:
    """A background from a theme's variables."""
    return Style(bgcolor=_rich(variables, token))


def _style(variables: Mapping[str, str], tone: Tone) -> Style:
    underline = True if tone in _UNDERLINED else None
    return Style(color=_rich(variables, f"{PREFIX}{tone}"), bold=tone in _BOLD, underline=underline)


def _rich(variables: Mapping[str, str], token: str) -> str | None:
    for name in (token, DEFAULTS[token]):
        value = variables.get(name)
        if value is None:
            continue
        try:
            return Color.parse(value).hex6
        except ColorParseError:
            continue
    return None
