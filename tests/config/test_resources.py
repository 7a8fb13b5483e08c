"""Themes and demo runs are found in a source tree and in an installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.config import resources


def test_a_source_tree_has_them_at_the_top() -> None:
    assert (resources.demo_runs_dir() / "README.md").is_file()
    assert resources.themes_dir().is_dir()


def test_an_installed_package_brings_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_themes").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path)
    assert resources.themes_dir() == tmp_path / "_themes"
