"""The file for a Python that ignores its environment: one line, idempotent, silent when agentdbg has gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentdbg.recording.launch import pth


def test_it_is_installed_once(tmp_path: Path) -> None:
    assert pth.install(str(tmp_path))
    assert not pth.install(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [pth.NAME]
    (tmp_path / pth.NAME).write_text("import old\n")
    assert pth.install(str(tmp_path))
    assert (tmp_path / pth.NAME).read_text() == pth.line()
    assert pth.line().count("\n") == 1


def test_where_it_cannot_be_written_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        pth.install(str(tmp_path / "none"))
    (tmp_path / pth.NAME).mkdir()
    with pytest.raises(OSError):
        pth.install(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [pth.NAME]


@pytest.mark.parametrize("launched", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_its_line_does_something_only_in_a_launch(launched: bool, there: bool, tmp_path: Path) -> None:
    line = pth.line() if there else pth.line().replace("sitecustomize.py", "gone.py")
    code = f"import sys\n{line}print([type(f).__name__ for f in sys.meta_path].count('AgentdbgFinder'))"
    env = {name: value for name, value in os.environ.items() if not name.startswith("AGENTDBG")}
    env |= {"AGENTDBG_LAUNCH": str(tmp_path)} if launched else {}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{int(launched and there)}\n", "")
