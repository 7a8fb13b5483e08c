"""Where the user's files go, and which store is used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentdbg.config import paths
from agentdbg.config.resources import demo_runs_dir
from agentdbg.config.settings import settings


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", [".config/agentdbg", ".local/share/agentdbg", ".local/state/agentdbg", ".cache/agentdbg"]),
        (
            "darwin",
            [
                "Library/Application Support/agentdbg",
                "Library/Application Support/agentdbg",
                "Library/Logs/agentdbg",
                "Library/Caches/agentdbg",
            ],
        ),
        (
            "win32",
            [
                "AppData/Local/agentdbg",
                "AppData/Local/agentdbg/data",
                "AppData/Local/agentdbg/state",
                "AppData/Local/agentdbg/cache",
            ],
        ),
    ],
)
def test_directories_follow_the_platform(
    platform: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": "relative/is/ignored"}
    found = [f(environ) for f in (paths.config_dir, paths.data_dir, paths.state_dir, paths.cache_dir)]
    assert found == [tmp_path / part for part in expected]


def test_xdg_directories_win(tmp_path: Path) -> None:
    assert paths.cache_dir({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "agentdbg"


def test_the_store_is_the_option_then_the_variable_then_the_project_then_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated_user: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    users = str(paths.data_dir() / "store")
    assert users.startswith(str(isolated_user))
    assert paths.store_url(None, settings()) == users
    (tmp_path / ".agentdbg").mkdir()
    assert paths.store_url(None, settings()) == ".agentdbg"
    monkeypatch.setenv("AGENTDBG_STORE", "~/runs")
    assert paths.store_url(None, settings()) == str(isolated_user / "runs")
    assert paths.store_url("sqlite:///~x.db", settings()) == "sqlite:///~x.db"


def test_the_shipped_runs_are_called_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert paths.store_url("demo", settings()) == str(demo_runs_dir())
    (tmp_path / "demo").mkdir()
    assert paths.store_url("demo", settings()) == "demo"


def test_a_store_may_be_called_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "agentdbg.toml").write_text('[stores]\nprod = "postgresql://db/runs"\n', encoding="utf-8")
    assert paths.store_url("prod", settings(project_dir=str(tmp_path))) == "postgresql://db/runs"


@pytest.mark.skipif(sys.platform == "win32", reason="accounts are elsewhere")
def test_an_empty_home_is_the_accounts_and_not_the_root_directory() -> None:
    import os
    import pwd

    assert paths.cache_dir({"HOME": ""}).is_relative_to(pwd.getpwuid(os.getuid()).pw_dir)
