"""What the child is given: restored variables, dummies for secrets, and nothing that could load foreign code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentdbg.replay.spec import child_environment, expand, write_spec
from agentdbg.store.reader import DirectoryRunSource
from tests.support.run_records import RunRecords


def source(tmp_path: Path, env: dict[str, object]) -> DirectoryRunSource:
    builder = RunRecords(tmp_path / "source", "run-1")
    body = builder.body({"env": env})
    builder.event("environment", body=body)
    return DirectoryRunSource(builder.end())


def test_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "C")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("AGENTDBG_STORE", "elsewhere")
    monkeypatch.setenv("PRESENT_TOKEN", "mine")
    recorded = {
        "LANG": {"value": "de_DE.UTF-8"},
        "PYTHONHASHSEED": {"value": "7"},
        "LD_PRELOAD": {"value": "/evil.so"},
        "PYTHONSTARTUP": {"value": "/evil.py"},
        "PYTHONPATH": {"value": "/evil"},
        "PYTHONHOME": {"value": "/evil"},
        "OPENAI_API_KEY": {"hash": "x"},
        "PRESENT_TOKEN": {"hash": "x"},
        "AGENTDBG_TOKEN": {"hash": "x"},
    }
    run = source(tmp_path, dict(recorded))
    made = child_environment(run, {"path": [], "cwd": str(tmp_path)}, tmp_path)
    assert made["LANG"] == "de_DE.UTF-8"
    assert made["PYTHONHASHSEED"] == "7"
    assert "TZ" not in made
    assert not {"LD_PRELOAD", "PYTHONSTARTUP", "PYTHONHOME", "AGENTDBG_TOKEN"} & set(made)
    assert "/evil" not in made["PYTHONPATH"]
    assert made["OPENAI_API_KEY"] == "agentdbg-dummy"
    assert made["PRESENT_TOKEN"] == "mine"
    assert made["AGENTDBG_STORE"] == str(tmp_path / "store")


def test_paths_are_expanded_from_their_roots() -> None:
    roots = {"root": "/r", "home": "/h"}
    assert [expand(path, roots) for path in ("{root}", "{root}/a", "{home}/b", "{rooted}/c", "/x")] == [
        "/r",
        "/r/a",
        "/h/b",
        "{rooted}/c",
        "/x",
    ]


def test_a_specification_is_plain_json(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    write_spec(source(tmp_path, {}), scratch, "run-1.exact", tolerate=("a*",), control_fd=5)
    found = json.loads((scratch / "spec.json").read_text())
    assert (found["tolerate"], found["control_fd"], found["meta"]["replay_of"]) == (["a*"], 5, "run-1")
