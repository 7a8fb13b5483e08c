"""A run for people and programs that have no agentdbg."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.hostile import attacks
from tests.support.mini_swe import said, write
from tests.support.program import agentdbg, document
from tests.support.secret_samples import secrets


def test_folders_are_written_once(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = document("export", "refund-7", "--to", "dir", "-o", out, "--store", store)
    assert (found["run_id"], found["to"], found["path"], found["steps"]) == ("refund-7", "dir", str(out), 6)
    assert found["files"] == len(list(out.rglob("*.json"))) == 18
    assert json.loads((out / "0003-tool-refund" / "arguments.json").read_text()) == {"amount": 5}
    done = agentdbg("export", "refund-7", "--to", "dir", "-o", out, "--store", store)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_page_goes_to_stdout_or_into_a_file(store: Path, tmp_path: Path) -> None:
    shown = agentdbg("export", "refund-7", "--to", "md", "--store", store)
    assert shown.returncode == 0
    assert shown.stdout.startswith("# Run refund-7\n")
    assert not attacks(shown.stdout.replace("\n", ""))
    done = agentdbg("export", "refund-7", "--to", "md", "-o", tmp_path / "r.md", "--store", store)
    assert (tmp_path / "r.md").read_text(encoding="utf-8") == shown.stdout
    assert done.stdout == f"exported refund-7, 6 steps, to {tmp_path / 'r.md'}\n"


def test_a_skeleton_says_nothing_of_what_was_said(store: Path) -> None:
    shown = agentdbg("export", "refund-7", "--to", "md", "--skeleton", "--store", store).stdout
    assert "Be brief." not in shown
    assert "left out: only the skeleton is shared" in shown


def test_a_secret_of_a_foreign_file_stays_here(tmp_path: Path) -> None:
    secret = secrets()["openai"]
    path = write(tmp_path / "x.json", [said("user", f"Use {secret}.")])
    done = agentdbg("export", path, "--to", "md")
    assert secret not in done.stdout
    assert "⟦R:" in done.stdout
    assert done.stderr == "agentdbg: x: 1 bodies held what looks like secrets, which was redacted\n"
    assert secret in agentdbg("show", path, "--step", "2").stdout


def test_folders_need_a_place_and_a_document_its_own_stdout(store: Path) -> None:
    for options in (["--to", "dir"], ["--to", "dir", "-o", "-"], ["--to", "md", "--json"], ["--to", "html"], []):
        done = agentdbg("export", "refund-7", *options, "--store", store)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
