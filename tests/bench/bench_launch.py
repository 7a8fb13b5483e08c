"""What ``agentdbg record`` adds to the start of a program, in the process that is recorded and around it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from agentdbg.recording.launch import directory
from agentdbg.recording.launch.environment import child_environment
from tests.bench.table import Row, in_turns, seconds
from tests.bench.worker import environment


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Start ``python -c pass`` bare, with the bootstrap switched off, recorded, and under the whole launcher."""
    environ = environment(folder)
    place = directory.make(None, str(folder / "store"), {})
    recorded = child_environment(environ, place, str(folder / "store"), None)
    off = {**recorded, "AGENTDBG": "off"}
    bare_words = [sys.executable, "-c", "pass"]
    launcher = [sys.executable, "-m", "agentdbg.cli.main", "record", "--", *bare_words]

    def start(words: list[str], environ: dict[str, str]) -> float:
        return seconds(lambda: subprocess.run(words, env=environ, cwd=folder, check=True)) * 1000

    def spent(environ: dict[str, str]) -> float:
        """Its processor time, which another program on the machine does not lengthen."""
        pid = os.posix_spawn(sys.executable, bare_words, environ)
        used = os.wait4(pid, 0)[2]
        return (used.ru_utime + used.ru_stime) * 1000

    times = 15 if quick else 41
    start(launcher, environ)  # writes the byte code
    try:
        inactive, bare = in_turns(times, lambda: start(bare_words, off), lambda: start(bare_words, environ))
        yield Row("python -c pass, bootstrap switched off, over bare", inactive - bare, "ms", 6, bare, "bare")
        active, bare = in_turns(times, lambda: start(bare_words, recorded), lambda: start(bare_words, environ))
        yield Row("python -c pass, recorded, over bare", active - bare, "ms", 12, bare, "bare")
        active, bare = in_turns(times, lambda: spent(recorded), lambda: spent(environ))
        yield Row("  … its CPU time over bare", active - bare, "ms", 15, bare, "bare")
        whole, bare = in_turns(times, lambda: start(launcher, environ), lambda: start(bare_words, environ))
        yield Row("agentdbg record -- python -c pass, over bare", whole - bare, "ms", None, bare, "bare")
    finally:
        directory.remove(place, directory.Told())
