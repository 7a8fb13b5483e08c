"""Open files by number."""

from __future__ import annotations

import os
from pathlib import Path

from agentdbg.store.descriptors import above_standard, flag, set_mode, write_all


def test_a_file_is_made_with_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    fd = above_standard(
        os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT | flag("O_CLOEXEC") | flag("O_NO_SUCH_FLAG"), 0)
    )
    try:
        set_mode(fd, 0o640)
        write_all(fd, b"x" * 100_000)
    finally:
        os.close(fd)
    assert fd > 2
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "a").stat().st_size == 100_000
