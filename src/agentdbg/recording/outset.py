"""What is in place from the first line of a launched program: its lanes, its draws, its children are of its run."""

from __future__ import annotations

from agentdbg.recording import children, pins, propagate
from agentdbg.recording import scope as scopes


def install() -> None:
    """Enter the scope of the process's own run, which its first call begins."""
    propagate.install()
    pins.install()
    children.install()
    scopes.enter_program()
