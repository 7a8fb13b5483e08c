"""Theme files are checked, and a bad one costs itself only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.color import Color

from agentdbg.config.resources import themes_dir
from agentdbg.debugging.document import Tone
from agentdbg.ui.theming import BadTheme, load_themes, read_theme, theme_from
from agentdbg.ui.tones import CURSOR, CURSOR_BLURRED, PREFIX

GOOD: dict[str, Any] = {"name": "mine", "primary": "#112233"}
NAMES = ["agentdbg-colour-blind-safe", "agentdbg-dark", "agentdbg-high-contrast", "agentdbg-light"]


def test_the_shipped_themes_are_good() -> None:
    loaded = load_themes([themes_dir()])
    assert loaded.problems == ()
    assert sorted(theme.name for theme in loaded.themes) == NAMES


@pytest.mark.parametrize("path", sorted(themes_dir().glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_text_can_be_read(path: Path) -> None:
    theme = read_theme(path)
    assert theme.background and theme.foreground
    for token, value in {**theme.variables, "foreground": theme.foreground}.items():
        if token.startswith(PREFIX) or token == "foreground":
            for ground in (theme.background, theme.surface, theme.variables[CURSOR], theme.variables[CURSOR_BLURRED]):
                assert ground
                least = 2.5 if token in ("tone-dim", "tone-json-punctuation") else 3.2
                assert contrast(value, ground) >= least, (path.name, token, ground)


def contrast(text: str, ground: str) -> float:
    """WCAG contrast ratio."""
    light, dark = sorted((_luminance(Color.parse(text)), _luminance(Color.parse(ground))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"primary": "notacolor"}, "primary: 'notacolor' is no colour"),
        ({"primary": 7}, "primary is a colour"),
        ({"colour": "red"}, "unknown key colour"),
        ({"name": ""}, "name is missing"),
        ({"name": "x\x1b[2J"}, "name is missing"),
        ({"dark": "yes"}, "dark is true or false"),
        ({"text_alpha": 3}, "text_alpha is a number"),
        ({"variables": 3}, "variables is a table"),
        ({"variables": {"tone-nothing": "red"}}, "unknown variable tone-nothing"),
        ({"variables": {"tone-dim": "grue"}}, "tone-dim: 'grue' is no colour"),
    ],
)
def test_bad_values_are_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadTheme, match=words):
        theme_from({**GOOD, **change})


def test_primary_is_needed() -> None:
    with pytest.raises(BadTheme, match="primary is missing"):
        theme_from({"name": "x"})


def test_the_users_theme_replaces_a_shipped_one_and_bad_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "agentdbg-dark"\nprimary = "#ffffff"\ntext_alpha = 0.5\ndark = false\n')
    (tmp_path / "b.toml").write_text("name = [torn")
    (tmp_path / "c.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "d.toml").write_text("#" * 70_000)
    (tmp_path / "e.toml").mkdir()
    loaded = load_themes([themes_dir(), tmp_path, tmp_path / "missing"])
    mine = next(theme for theme in loaded.themes if theme.name == "agentdbg-dark")
    assert (mine.primary, mine.dark) == ("#ffffff", False)
    assert len(loaded.problems) == 4
    assert loaded.problems[0].startswith("theme b.toml: cannot be read")


def test_every_tone_has_a_place_in_the_shipped_themes() -> None:
    for theme in load_themes([themes_dir()]).themes:
        missing = {f"{PREFIX}{tone}" for tone in Tone} - theme.variables.keys()
        assert missing <= {"tone-plain", "tone-accent", "tone-ok", "tone-warn", "tone-error"}
