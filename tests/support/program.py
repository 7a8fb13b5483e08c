"""Runs the real program, as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def agentdbg(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run ``agentdbg`` with these arguments, without a terminal; ``env`` is added to the environment."""
    return subprocess.run(
        [sys.executable, "-m", "agentdbg.cli.main", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def document(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 60
) -> dict[str, Any]:
    """The JSON document that ``agentdbg … --json`` prints, alone on stdout, its schema first."""
    done = agentdbg(*arguments, "--json", cwd=cwd, env=env, timeout=timeout)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert next(iter(found)) == "schema"
    return found
