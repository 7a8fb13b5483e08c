"""A settings file that cannot be used is one line of text."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agentdbg.config.files import read_file


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert read_file(str(tmp_path / "none.toml")) == ({}, None)
    assert read_file(str(tmp_path / "none.toml" / "deeper.toml")) == ({}, None)


def test_sections_become_dotted_keys(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('theme = "x"\n[store]\nurl = "y"\n[recording.queue]\nbytes = 1\n', encoding="utf-8")
    assert read_file(str(file)) == ({"theme": "x", "store.url": "y", "recording.queue.bytes": 1}, None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"theme = ", "is not TOML"),
        (b"theme = '\xff'", "is not TOML"),
        (b"x = " + b"[" * 5000, "settings in it are not used"),
        (b"#" * 1_000_001, "is larger than"),
    ],
)
def test_a_broken_file_is_told_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(content)
    entries, problem = read_file(str(file))
    assert entries == {}
    assert problem is not None
    assert said in problem
    assert "\n" not in problem


def test_a_directory_is_no_settings_file(tmp_path: Path) -> None:
    assert read_file(str(tmp_path))[1] == "is not a regular file; settings in it are not used"


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFOs on this platform")
def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    fifo = tmp_path / "c.toml"
    os.mkfifo(fifo)
    assert read_file(str(fifo))[1] == "is not a regular file; settings in it are not used"
