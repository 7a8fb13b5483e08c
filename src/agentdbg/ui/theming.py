"""Themes as TOML files: read, checked, and handed to Textual. A bad file costs itself only."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from textual.color import Color, ColorParseError
from textual.theme import Theme

from agentdbg.config.paths import config_dir
from agentdbg.config.resources import themes_dir
from agentdbg.ui.tones import DEFAULTS

DEFAULT_THEME: Final = "agentdbg-dark"
_MAX_BYTES: Final = 64 * 1024
_COLOURS: Final = frozenset(
    [
        "primary",
        "secondary",
        "warning",
        "error",
        "success",
        "accent",
        "foreground",
        "background",
        "surface",
        "panel",
        "boost",
    ]
)
_NUMBERS: Final = frozenset(("luminosity_spread", "text_alpha"))
_KNOWN: Final = frozenset(field.name for field in fields(Theme)) - {"ansi"}
_TEXTUAL_TOKENS: Final = (
    "border", "border-blurred", "scrollbar", "scrollbar-hover", "scrollbar-active", "scrollbar-background",
    "scrollbar-background-hover", "scrollbar-background-active", "scrollbar-corner-color", "input-cursor-background",
    "input-selection-background", "block-cursor-background", "block-cursor-foreground",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadedThemes:
    """What could be read, and one line for each thing that could not."""

    themes: tuple[Theme, ...]
    problems: tuple[str, ...]


class BadTheme(Exception):
    """A theme file that cannot be used; the message says what to change."""


def load_themes(directories: Iterable[Path] | None = None) -> LoadedThemes:
    """Read all theme files; a later directory replaces a theme of the same name.

    Args:
        directories: Where to look: by default the shipped themes, then the user's own.
    """
    found: dict[str, Theme] = {}
    problems: list[str] = []
    for directory in directories if directories is not None else (themes_dir(), config_dir() / "themes"):
        for path in sorted(directory.glob("*.toml")) if directory.is_dir() else ():
            try:
                theme = read_theme(path)
            except BadTheme as problem:
                problems.append(f"theme {path.name}: {problem}")
            else:
                found[theme.name] = theme
    return LoadedThemes(tuple(found.values()), tuple(problems))


def read_theme(path: Path) -> Theme:
    """Read one theme file.

    Raises:
        BadTheme: It is no theme, has unknown keys, or a value that is no colour.
    """
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            raise BadTheme("not a file of a theme's size")
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadTheme(f"cannot be read: {problem}") from problem
    return theme_from(data)


def theme_from(data: dict[str, object]) -> Theme:
    """Check a theme's table and build it.

    Raises:
        BadTheme: A key is unknown or missing, or a value is no colour.
    """
    unknown = sorted(set(data) - _KNOWN)
    if unknown:
        raise BadTheme(f"unknown key {unknown[0]}; known are {', '.join(sorted(_KNOWN))}")
    name = data.get("name")
    if not isinstance(name, str) or not name or not name.isascii() or not name.isprintable():
        raise BadTheme("name is missing")
    if "primary" not in data:
        raise BadTheme("primary is missing")
    colours = {key: _colour(key, data[key]) for key in _COLOURS & data.keys()}
    variables = _variables(data.get("variables", {}))
    numbers = {key: _number(key, data[key]) for key in _NUMBERS & data.keys()}
    dark = data.get("dark", True)
    if not isinstance(dark, bool):
        raise BadTheme("dark is true or false")
    return Theme(name=name, dark=dark, variables=variables, **colours, **numbers)  # type: ignore[arg-type]


def _variables(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise BadTheme("variables is a table")
    known = {*DEFAULTS, *_TEXTUAL_TOKENS}
    for key in table:
        if key not in known:
            raise BadTheme(f"unknown variable {key}; known are {', '.join(sorted(known))}")
    return {key: _colour(key, value) for key, value in table.items()}


def _colour(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadTheme(f"{key} is a colour such as #0a7acc")
    try:
        Color.parse(value)
    except ColorParseError as problem:
        raise BadTheme(f"{key}: {value!r:.40} is no colour; write it as #0a7acc") from problem
    return value


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadTheme(f"{key} is a number from 0 to 1")
    return float(value)
