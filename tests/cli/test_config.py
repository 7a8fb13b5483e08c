"""Every setting is shown with where its value comes from."""

from __future__ import annotations

from pathlib import Path

from agentdbg.config.table import SETTINGS
from tests.support.program import agentdbg, document


def test_every_setting_has_value_and_origin(tmp_path: Path) -> None:
    (tmp_path / "agentdbg.toml").write_text(
        'theme = "dark"\nunknown = 1\n[tools]\npay = "external"\n', encoding="utf-8"
    )
    found = document("config", cwd=tmp_path, env={"AGENTDBG": "off"})
    by_key = {entry["key"]: entry for entry in found["settings"]}
    assert list(by_key) == [setting.key for setting in SETTINGS]
    assert by_key["theme"]["value"] == "dark"
    assert by_key["theme"]["source"].endswith("agentdbg.toml")
    assert by_key["tools"]["value"] == {"pay": "external"}
    assert (by_key["recording.enabled"]["value"], by_key["recording.enabled"]["source"]) == (
        False,
        "environment AGENTDBG",
    )
    assert by_key["lang"]["source"] == "default"
    assert len(found["problems"]) == 1


def test_people_get_a_table(tmp_path: Path) -> None:
    done = agentdbg("config", cwd=tmp_path)
    assert done.returncode == 0
    assert all(setting.key in done.stdout for setting in SETTINGS)
    assert "user file" in done.stdout


def test_the_store_in_use_is_named(tmp_path: Path) -> None:
    (tmp_path / ".agentdbg").mkdir()
    assert document("config", cwd=tmp_path)["directories"]["store"] == ".agentdbg"
