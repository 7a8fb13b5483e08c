"""Where the data that ships with agentdbg lies: in the wheel, or in the source tree."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def themes_dir() -> Path:
    """Directory of the shipped themes."""
    return _shipped("themes")


def demo_runs_dir() -> Path:
    """Store of the shipped demo runs; may be read-only."""
    return _shipped("demo_runs")


def _shipped(name: str) -> Path:
    """The installed copy of a top-level directory, or the source tree's own when there is none."""
    installed = _PACKAGE / f"_{name}"
    return installed if installed.is_dir() else _PACKAGE.parent.parent / name
