"""Runs a program bare and under ``agentdbg record``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

AGENTDBG = (sys.executable, "-E", "-P", "-m", "agentdbg.cli.main")
"""What a test puts on PYTHONPATH or into its directory would speak up in the launcher as well."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program left behind for those who started it."""

    status: int
    stdout: bytes
    stderr: bytes


def run(words: Sequence[str | Path], cwd: Path, *, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Outcome:
    """Run a command; ``env`` is added to the environment."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        input=stdin,
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def record(
    words: Sequence[str | Path],
    cwd: Path,
    *options: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a command under ``agentdbg record``, with the store ``cwd/.store``."""
    store = env["AGENTDBG_STORE"] if env and "AGENTDBG_STORE" in env else str(cwd / ".store")
    return run([*AGENTDBG, "record", "--store", store, *options, "--", *words], cwd, stdin=stdin, env=env)


def both(
    words: Sequence[str | Path], cwd: Path, *, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[Outcome, Outcome]:
    """Run a command bare, then recorded."""
    return run(words, cwd, stdin=stdin, env=env), record(words, cwd, stdin=stdin, env=env)
