"""Which exit status a verdict has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agentdbg.cli.errors import Status

EXIT: Final[Mapping[str, Status]] = {
    "identical": Status.SAME,
    "recording_ended": Status.SAME,
    "same": Status.SAME,
    "unaffected": Status.SAME,
    "diverged": Status.DIFFERS,
    "changed": Status.DIFFERS,
    "refused": Status.REFUSED,
    "flaky": Status.FLAKY,
    "not_replayable": Status.NOTHING,
    "prefix_changed": Status.NOTHING,
    "needs_data": Status.NOTHING,
    "aborted": Status.TROUBLE,
    "timed_out": Status.TROUBLE,
    "crashed": Status.TROUBLE,
}


def exit_status(verdict: str) -> Status:
    """The exit status of a verdict; a verdict that is not known here is trouble, never a success."""
    return EXIT.get(verdict, Status.TROUBLE)
