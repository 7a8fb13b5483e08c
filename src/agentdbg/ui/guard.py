"""The last step before the terminal: whatever slipped through the door for untrusted text is neutralised here.

This file alone reaches into Textual's rendering. Every frame is written through ``Strip.render``; the guard replaces
that method by one that looks at the text of each segment first. Textual's own control sequences are not strips.
A crash is the other way out: Textual's own report prints the local variables, which hold recorded text.
"""

from __future__ import annotations

import re
import traceback
from typing import Final

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App
from textual.strip import Strip

from agentdbg.model.safe_text import safe_block

_DANGEROUS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_render = Strip.render


class GuardedApp(App[None], inherit_bindings=False):
    """An app whose last words, should it crash, are as harmless as its frames."""

    def _fatal_error(self) -> None:
        """Leave with a plain traceback: no local variables, no control characters."""
        self.bell()
        self._exit_renderables.append(Text(safe_block(traceback.format_exc())))
        self._close_messages_no_wait()


def neutralise(text: str) -> str:
    """Text without a character that a terminal would obey, hide or reorder."""
    return _DANGEROUS.sub(_shown, text)


def install() -> None:
    """Put the guard in place, once for the process."""
    Strip.render = _guarded  # type: ignore[method-assign,assignment]


def is_installed() -> bool:
    """Whether frames pass the guard."""
    return Strip.render is _guarded


def _guarded(strip: Strip, console: Console) -> str:
    if all(_is_clean(segment) for segment in strip):
        return _render(strip, console)
    cleaned = [
        Segment(neutralise(text), _without_link(style), control) if not control else Segment("", None)
        for text, style, control in strip
    ]
    return _render(Strip(cleaned), console)


def _is_clean(segment: Segment) -> bool:
    text, style, control = segment
    return not control and _DANGEROUS.search(text) is None and (style is None or style.link is None)


def _without_link(style: Style | None) -> Style | None:
    """A link's address is written unescaped, so no link is written."""
    return style if style is None or style.link is None else style.update_link(None)


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
