"""Variables from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.replay.env_file import BadEnvFile, read_env_file


def test_names_and_values(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("# a comment\n\nA=1\nexport B='two words'\nC=\"x=y\"\n D = 4 \nE=\n")
    assert read_env_file(str(file)) == {"A": "1", "B": "two words", "C": "x=y", "D": "4", "E": ""}


def test_remarks_and_the_mark_of_a_windows_file(tmp_path: Path) -> None:
    file = tmp_path / "env"
    lines = ["A=1 # one", 'B="x # y"  # it\'s "b"', "C=p#w", "D=#x", "E= # nothing", "F='it # is'", 'G="a" x "b"']
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    found = {"A": "1", "B": "x # y", "C": "p#w", "D": "#x", "E": "", "F": "it # is", "G": 'a" x "b'}
    assert read_env_file(str(file)) == found


@pytest.mark.parametrize("line", ["no equals sign", "1A=2", "AGENTDBG=off", "PYTHONPATH=/x", "A-B=1"])
def test_a_line_that_cannot_be_used_is_named_without_its_value(tmp_path: Path, line: str) -> None:
    file = tmp_path / "env"
    file.write_text(f"A=secret-1\n{line}\n")
    with pytest.raises(BadEnvFile, match="line 2") as found:
        read_env_file(str(file))
    assert "secret" not in str(found.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadEnvFile, match="no such file"):
        read_env_file(str(tmp_path / "none"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BadEnvFile, match="UTF-8"):
        read_env_file(str(tmp_path / "binary"))
