"""Sentences that the engines make in English, as people read them: what is stored and printed as JSON stays English.

A phrase has places, ``{name}``, for what is recorded or counted; a place whose name begins with ``_`` holds a phrase
again. What is joined with semicolons is looked up part by part. Where there is no phrase the text stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from agentdbg.i18n import catalogue

_PLACE: Final = re.compile(r"\{(\w+)\}")
_AND: Final = "; "
_MOST: Final = 8
"""Parts that one sentence is made of at most."""
_Table = tuple[Mapping[str, str], tuple[tuple[re.Pattern[str], str], ...]]


def phrase(text: str) -> str:
    """An English sentence of an engine's, in the chosen language."""
    lang = catalogue.chosen()
    return text if lang == "en" or not text else _translated(text, lang)


@lru_cache(2048)
def _translated(text: str, lang: str) -> str:
    parts = text.split(_AND)
    shown, at = "", 0
    while at < len(parts):
        own, end = _next(parts, at, lang)
        if at:
            shown += _AND if own is None else "；"  # a part that is no sentence may be recorded text: it stays as it is
        shown += parts[at] if own is None else own
        at = end
    return shown


def _next(parts: list[str], at: int, lang: str) -> tuple[str | None, int]:
    """The sentence that begins with a part, and where the next one does; it ends where it first can.

    A place may hold recorded text with a semicolon. It holds no sentence that would be one by itself.
    """
    for end in range(at + 1, min(at + _MOST, len(parts)) + 1):
        own = _whole(_AND.join(parts[at:end]), lang)
        if own is not None and all(_whole(_AND.join(parts[later:end]), lang) is None for later in range(at + 1, end)):
            return own, end
    return None, at + 1


def _whole(text: str, lang: str) -> str | None:
    exact, patterns = _table(lang)
    if text in exact:
        return exact[text]
    for pattern, template in patterns:
        if (match := pattern.fullmatch(text)) is not None:
            found = {
                name: _translated(value, lang) if name.startswith("_") else value
                for name, value in match.groupdict().items()
            }
            return template.format_map(found)
    return None


@lru_cache(4)
def _table(lang: str) -> _Table:
    """Phrases without places by their text; the others as patterns, what says most first."""
    phrases = _phrases(lang)
    exact = {english: own for english, own in phrases.items() if not _PLACE.search(english)}
    placed = sorted((each for each in phrases if each not in exact), key=lambda each: -len(_PLACE.sub("", each)))
    return exact, tuple((re.compile(_pattern(english), re.DOTALL), phrases[english]) for english in placed)


def _phrases(lang: str) -> Mapping[str, str]:
    if lang != "zh":
        return {}
    from agentdbg.i18n.zh_outcomes import OUTCOMES
    from agentdbg.i18n.zh_plans import PLANS
    from agentdbg.i18n.zh_screen_phrases import SCREEN_PHRASES

    return {**SCREEN_PHRASES, **PLANS, **OUTCOMES}


def _pattern(english: str) -> str:
    pieces = _PLACE.split(english)
    return "".join(f"(?P<{piece}>.+?)" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces))
