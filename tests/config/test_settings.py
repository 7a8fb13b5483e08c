"""Which source wins, and what people are told about sources that cannot be used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.config.settings import settings
from agentdbg.config.table import SETTINGS


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "agentdbg" / "config.toml"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def test_without_any_source_every_setting_has_its_default(environ: dict[str, str], tmp_path: Path) -> None:
    found = settings(environ=environ, project_dir=str(tmp_path))
    assert {key: entry.value for key, entry in found.resolved.items()} == {s.key: s.default for s in SETTINGS}
    assert found.problems == ()
    assert found.count("recording.large_body_bytes") == 262144


def test_the_command_line_wins_over_environment_project_and_user(
    environ: dict[str, str], user_file: Path, tmp_path: Path
) -> None:
    project = tmp_path / "work"
    sources = []
    write(user_file, 'theme = "a"')
    sources.append(settings(environ=environ, project_dir=str(project)))
    write(project / "agentdbg.toml", 'theme = "b"')
    sources.append(settings(environ=environ, project_dir=str(project)))
    environ["AGENTDBG_THEME"] = "c"
    sources.append(settings(environ=environ, project_dir=str(project)))
    sources.append(settings({"theme": "d"}, environ, str(project)))
    assert [found.text("theme") for found in sources] == ["a", "b", "c", "d"]
    assert [found.source("theme") for found in sources] == [
        str(user_file),
        str(project / "agentdbg.toml"),
        "environment AGENTDBG_THEME",
        "command line",
    ]


def test_agentdbg_off_switches_recording_off(environ: dict[str, str], tmp_path: Path) -> None:
    environ["AGENTDBG"] = "off"
    assert settings(environ=environ, project_dir=str(tmp_path)).flag("recording.enabled") is False


def test_store_may_be_written_short(environ: dict[str, str], user_file: Path, tmp_path: Path) -> None:
    write(user_file, 'store = "/runs"')
    assert settings(environ=environ, project_dir=str(tmp_path)).text("store.url") == "/runs"


def test_tables_of_keys_tools_and_stores(environ: dict[str, str], user_file: Path, tmp_path: Path) -> None:
    write(
        user_file,
        '[keys]\nstep = ["n", "f10"]\n[tools]\nrefund = "external"\n"mail.send" = "write"\n[stores]\nprod = "/p"\n',
    )
    found = settings(environ=environ, project_dir=str(tmp_path))
    assert found.problems == ()
    assert found.table("keys") == {"step": "n,f10"}
    assert found.table("tools") == {"refund": "external", "mail.send": "write"}
    assert found.table("stores") == {"prod": "/p"}


def test_an_unknown_key_names_the_file_the_key_and_the_likely_one(
    environ: dict[str, str], user_file: Path, tmp_path: Path
) -> None:
    write(user_file, "[recording]\nenable = true\n[nonsense]\nx = 1\n")
    problems = settings(environ=environ, project_dir=str(tmp_path)).problems
    assert problems == (
        f"{user_file}: unknown key recording.enable; did you mean recording.enabled?",
        f"{user_file}: unknown key nonsense.x; remove it ('agentdbg config' lists all keys)",
    )


def test_a_bad_value_is_told_and_the_next_source_holds(
    environ: dict[str, str], user_file: Path, tmp_path: Path
) -> None:
    write(user_file, '[recording]\ndurability = "batch"\n')
    environ["AGENTDBG_DURABILITY"] = "sometimes"
    found = settings(environ=environ, project_dir=str(tmp_path))
    assert found.text("recording.durability") == "batch"
    assert found.problems == (
        "environment variable AGENTDBG_DURABILITY: recording.durability: cannot use 'sometimes'; "
        "use one of none, batch, always",
    )


def test_asking_for_the_wrong_type_is_a_mistake_of_the_program(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"setting theme is a text"):
        settings(environ=environ, project_dir=str(tmp_path)).count("theme")


def test_no_toml_reader_is_loaded_without_a_file(tmp_path: Path) -> None:
    probe = "import sys; from agentdbg.config.settings import settings; settings(); print('tomllib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_setting_is_named_explained_and_has_a_default_of_its_type() -> None:
    assert len({s.key for s in SETTINGS}) == len(SETTINGS)
    variables = [s.env for s in SETTINGS if s.env]
    assert len(set(variables)) == len(variables)
    assert all(s.help and not s.help.endswith(".") for s in SETTINGS)
    assert all(s.default in s.choices for s in SETTINGS if s.type == "choice")
