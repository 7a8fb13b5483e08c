"""Every test runs as a user without any agentdbg configuration, in an empty home directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")


@pytest.fixture(autouse=True)
def isolated_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point HOME and the user's directories into an empty place and drop what could steer agentdbg from outside."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("AGENTDBG")]:
        monkeypatch.delenv(name)
    for name in (*_XDG, "NO_COLOR", "FORCE_COLOR", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("LANG", "C.UTF-8")
    return home
