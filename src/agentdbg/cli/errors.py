"""What goes wrong on a command line: one line, and the exit status that scripts rely on."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Exit statuses, the same for every command."""

    SAME = 0
    DIFFERS = 1
    TROUBLE = 2
    REFUSED = 3
    FLAKY = 4
    NOTHING = 5
    INTERRUPTED = 130


class Trouble(Exception):
    """Ends a command with one line: what, where, what to do.

    Attributes:
        status: Exit status.
    """

    def __init__(self, line: str, status: Status = Status.TROUBLE) -> None:
        super().__init__(line)
        self.status = status
