"""Sandboxes of the settings files: read whole, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.config.settings import settings
from agentdbg.replay.sandbox import BadSandbox, Sandbox, sandbox


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def declare(project: Path, text: str) -> None:
    (project / "agentdbg.toml").write_text(text)


def test_a_declared_sandbox_is_read(project: Path) -> None:
    declare(project, '[sandbox.staging]\nenv = {URL = "http://x:1"}\nhosts = ["x:1", "y"]\ntools = ["pay"]\n')
    found = sandbox("staging", str(project))
    assert found == Sandbox("staging", {"URL": "http://x:1"}, ("x:1", "y"), ("pay",))
    assert found.members() == {"name": "staging", "hosts": ["x:1", "y"], "tools": ["pay"]}


def test_members_may_be_left_out(project: Path) -> None:
    declare(project, '[sandbox.a]\ntools = ["pay"]\n')
    assert sandbox("a", str(project)) == Sandbox("a", {}, (), ("pay",))


def test_a_sandbox_is_no_unknown_setting(project: Path) -> None:
    declare(project, '[sandbox.a]\ntools = ["pay"]\nenv = {A = "b"}\n')
    assert settings(project_dir=str(project)).problems == ()


def test_a_name_that_is_not_declared_says_which_are(project: Path) -> None:
    with pytest.raises(BadSandbox, match="none is declared"):
        sandbox("b", str(project))
    declare(project, "[sandbox.a]\ntools = []\n")
    with pytest.raises(BadSandbox, match="there is a"):
        sandbox("b", str(project))


@pytest.mark.parametrize(
    "text",
    ['tools = "pay"', "hosts = [1]", "env = {A = 1}", 'tool = ["pay"]', 'env = "A"'],
)
def test_what_cannot_be_used_is_refused(project: Path, text: str) -> None:
    declare(project, f"[sandbox.a]\n{text}\n")
    with pytest.raises(BadSandbox, match=r"sandbox\.a"):
        sandbox("a", str(project))


def test_a_broken_file_is_refused(project: Path) -> None:
    declare(project, "[sandbox.a\n")
    with pytest.raises(BadSandbox, match="TOML"):
        sandbox("a", str(project))
