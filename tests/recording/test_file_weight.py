"""What is written without being an effect, and what is one of little weight."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from agentdbg.recording import frames
from agentdbg.recording.file_weight import TemporaryFiles, is_dull


@pytest.mark.parametrize(
    "path",
    ["/dev/null", "/dev/pts/3", "/proc/12/fd/pipe:[3]", "/a/__pycache__", "/a/__pycache__/m.cpython-311.pyc.1234",
     "/a/m.pyc", "/store/runs/r/events/w.jsonl"],
)  # fmt: skip
def test_devices_byte_code_and_the_record_are_dull(path: str) -> None:
    assert is_dull(path, "/store")


@pytest.mark.parametrize("path", ["/dev/shm/x", "/a/b.txt", "/stored/x", "/a/pycache", "/proc/self/oom_score_adj"])
def test_everything_else_is_not(path: str) -> None:
    assert not is_dull(path, "/store")
    assert not is_dull("/store/x", "")


def test_only_what_the_standard_library_makes_among_temporary_files_is_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(frames, "_SELF", (*frames._SELF, os.path.abspath(__file__)))
    files = TemporaryFiles()
    asked: list[str] = []

    def ask(path: str, *_: object) -> int:
        asked.append(files.weight([os.path.realpath(path)]))
        return -1

    monkeypatch.setattr(tempfile, "_os", type("Os", (), {**vars(os), "open": staticmethod(ask)}))
    make = vars(tempfile)["_mkstemp_inner"]
    make(str(tmp_path), "p", "s", 0, str)
    make("/elsewhere", "p", "s", 0, str)
    assert asked == ["temporary", ""]
    assert files.weight([str(tmp_path / "made by hand")]) == ""
