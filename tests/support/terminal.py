"""An interactive shell on a terminal of its own, and keys for it."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

PROMPT = "shell> "
CTRL_C, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x1a", "\x1c"


class Shell:
    """``bash -i`` behind a pseudo terminal; what it shows is read as text."""

    def __init__(self, cwd: str) -> None:
        pid, self._fd = pty.fork()
        if pid == 0:
            os.chdir(cwd)
            os.environ["PS1"] = PROMPT
            os.environ["TERM"] = "dumb"
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self._pid = pid
        self._left = ""
        self.read(PROMPT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self._pid, 0)

    def run(self, line: str, until: str = f"\n{PROMPT}") -> str:
        """Type a line; returns what is shown up to ``until``."""
        self.type(line + "\n")
        return self.read(until)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    def read(self, until: str, seconds: float = 20) -> str:
        """What is shown from now up to ``until``.

        Raises:
            TimeoutError: It does not come.
        """
        shown = self._left
        end = time.monotonic() + seconds
        while until not in shown:
            if time.monotonic() > end:
                raise TimeoutError(f"{until!r} was not shown, but {shown!r}")
            if select.select([self._fd], [], [], 0.1)[0]:
                try:
                    shown += os.read(self._fd, 65536).decode("utf-8", "replace").replace("\r", "")
                except OSError as error:
                    raise TimeoutError(f"the shell ended after {shown!r}") from error
        before, found, self._left = shown.partition(until)
        return before + found
