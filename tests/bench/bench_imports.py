"""``import agentdbg`` with the names that a program touches first, against a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.table import Row, in_turns, seconds
from tests.bench.worker import environment

TOUCHED = "import agentdbg; agentdbg.agent; agentdbg.tool"


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Start the interpreter with and without it, in turns."""
    environ = environment(folder)

    def start(code: str) -> float:
        command = [sys.executable, "-c", code]
        return seconds(lambda: subprocess.run(command, env=environ, cwd=folder, check=True)) * 1000

    start(TOUCHED)  # writes the byte code
    imported, bare = in_turns(15 if quick else 41, lambda: start(TOUCHED), lambda: start("pass"))
    yield Row("import agentdbg, over a bare interpreter", imported - bare, "ms", 30, bare, "python -c pass")
