"""The process that is recorded in, as far as the recorder touches it: its directory, its last word, its exit status."""

from __future__ import annotations

import os
import sys

from agentdbg.recording import launched


def keep_interrupt_status() -> None:
    """A program that ends by Ctrl-C ends by that signal, unless a text was executed since: then that is forgotten.

    The imports of the capturing thread do that (every dataclass is an executed text), so the interpreter is reminded.
    """
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return


def working_directory() -> str:
    """The working directory; the root when it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def say(message: str) -> None:
    """One line on stderr, or for the launcher; control characters escaped, nothing when there is no one to tell."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    if launched.active:
        launched.tell("warned", reason=line)  # the program's own streams are its own
        return
    try:
        sys.stderr.write(f"agentdbg: {line}\n")
    except Exception:
        return  # closed, full, or not a stream at all
