"""Replays of programs that have files named as what a replay is made of."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.launching import record, run
from tests.support.program import document

NAMES = ("agentdbg", "json", "platform", "secrets", "hmac", "argparse", "dataclasses", "threading", "_socket_")
PROGRAM = """
import os, sys
def look(word): return word.upper()
print(look("a"), [place for place in sys.path if place == os.getcwd()])
"""


@pytest.mark.parametrize("folder", ["", "sub/", "agentdbg/"])
def test_files_beside_the_program_do_not_get_into_its_replay(folder: str, tmp_path: Path) -> None:
    program = tmp_path / f"{folder}program.py"
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM, encoding="utf-8")
    words = [sys.executable, str(program)]
    recorded = record(words, tmp_path, "--tool", "look=read")
    assert (recorded.status, recorded.stderr) == (0, b"")
    for name in NAMES:
        if not (tmp_path / name).exists():
            (tmp_path / f"{name}.py").write_text("raise RuntimeError('not to be imported')\n", encoding="utf-8")
    found = document("replay", "@", "--exact", "--guard", "audit", "--store", tmp_path / ".store")
    assert found["verdict"] == "identical", json.dumps(found)


def test_a_program_that_has_a_module_agentdbg_is_left_alone_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import agentdbg, agentdbg.part\nprint(agentdbg.MINE)\n", encoding="utf-8")
    (tmp_path / "agentdbg").mkdir()
    (tmp_path / "agentdbg" / "__init__.py").write_text("MINE = 7\n", encoding="utf-8")
    (tmp_path / "agentdbg" / "part.py").write_text("import agentdbg\n", encoding="utf-8")
    (tmp_path / "agentdbg" / "__main__.py").write_text("import program\n", encoding="utf-8")
    for start in (["program.py"], ["-m", "program"], ["-m", "agentdbg"], ["-c", "import program"]):
        words = [sys.executable, *start]
        bare, recorded = run(words, tmp_path), record(words, tmp_path)
        assert (recorded.status, recorded.stdout) == (bare.status, bare.stdout) == (0, b"7\n")
        assert recorded.stderr.startswith(b"agentdbg: not recorded: ")
        assert os.fsencode(tmp_path / "agentdbg") in recorded.stderr


def test_a_folder_named_agentdbg_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "agentdbg" / "src").mkdir(parents=True)
    (tmp_path / "program.py").write_text("print(7)\n", encoding="utf-8")
    recorded = record([sys.executable, "program.py"], tmp_path)
    assert (recorded.status, recorded.stdout, recorded.stderr) == (0, b"7\n", b"")
