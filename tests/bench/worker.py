"""Work in a process of its own, asked for round by round, so that settings of the recorder can be measured in turns.

    python -m tests.bench.worker MODULE [ARGUMENT …]

imports MODULE and calls its ``child(*arguments)``, which returns the function that answers: one JSON line in, one out.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a user without any configuration, at home in ``folder``."""
    mine = ("AGENTDBG", "XDG_", "PYTHONPATH", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    folder.mkdir(parents=True, exist_ok=True)
    places = {"HOME": str(folder), "AGENTDBG_STORE": str(folder / "store"), "PYTHONPATH": str(ROOT)}
    return {**kept, **places, "OPENAI_API_KEY": "none", "LANG": "C.UTF-8", **more}


def without_redaction(folder: Path) -> None:
    """Switch redaction off for the user at home in ``folder``, replays included."""
    file = folder / ".config" / "agentdbg" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[recording]\nredaction = false\n", encoding="ascii")


class Worker:
    """A child process that answers; used as a context manager."""

    def __init__(self, module: str, *arguments: str, environ: Mapping[str, str]) -> None:
        self._command = [sys.executable, "-m", "tests.bench.worker", module, *arguments]
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, question: object = None) -> Any:
        """Put a question and wait for its answer.

        Raises:
            RuntimeError: The child has ended; its stderr says why.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._command} ended with status {self._process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def main(module: str, *arguments: str) -> None:
    """Answer until there are no more questions; what the work prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer = importlib.import_module(module).child(*arguments)
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
