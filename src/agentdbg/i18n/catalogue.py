"""Looks fixed strings up by id, in the chosen language and else in English."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Final

LANGUAGES: Final = ("en", "zh")
_chosen = "en"
_catalogues: dict[str, Mapping[str, str]] = {}


def choose_language(lang: str, environ: Mapping[str, str] | None = None) -> str:
    """Use ``lang`` (``auto``: what the locale asks for) from now on; returns the language that is used."""
    global _chosen
    wanted = _of_locale(os.environ if environ is None else environ) if lang == "auto" else lang
    _chosen = wanted if wanted in LANGUAGES else "en"
    return _chosen


def chosen() -> str:
    """The language that is used."""
    return _chosen


def message(key: str, /, **values: object) -> str:
    """The text of ``key`` with its places filled; the key itself where there is no such text."""
    text = _catalogue(_chosen).get(key) or _catalogue("en").get(key, key)
    return text.format_map(values) if values else text


def _catalogue(lang: str) -> Mapping[str, str]:
    """The messages of a language, loaded at first use."""
    if lang not in _catalogues:
        _catalogues[lang] = import_module(f"agentdbg.i18n.{lang}").MESSAGES
    return _catalogues[lang]


def _of_locale(environ: Mapping[str, str]) -> str:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        locale = environ.get(variable)
        if locale:
            return locale[:2].lower()
    return "en"
