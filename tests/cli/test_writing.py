"""A file that a command writes appears as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.cli.errors import Trouble
from agentdbg.cli.writing import output_file


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), output_file(str(tmp_path / "x")) as out:
        out.write(b"half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_it_is_there_only_when_it_is_done(tmp_path: Path) -> None:
    with output_file(str(tmp_path / "x")) as out:
        out.write(b"all")
        assert not (tmp_path / "x").exists()
    assert (tmp_path / "x").read_bytes() == b"all"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_not_even_a_dangling_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to(tmp_path / "y")
    with pytest.raises(Trouble, match="is there already"), output_file(str(tmp_path / "x")):
        pass
    assert not (tmp_path / "y").exists()
