"""Installs the seams once, when the first name of the package is used. Light: the recorder is loaded later."""

from __future__ import annotations

import os

from agentdbg.recording import seams

_done = False


def enabled() -> bool:
    """Whether ``AGENTDBG=off`` is absent."""
    return os.environ.get("AGENTDBG", "").lower() not in ("off", "0", "false", "no")


def install() -> None:
    """Patch the clients and frameworks that are loaded, and those that will be. Nothing when recording is off."""
    global _done
    if _done or not enabled():
        return
    _done = True
    seams.install()
