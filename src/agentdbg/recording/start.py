"""Installs the seams once, when the first name of the package is used."""

from __future__ import annotations

from agentdbg.recording.hooks import on_import
from agentdbg.recording.process import enabled

_done = False


def install() -> None:
    """Patch the HTTP clients that are loaded, and those that will be. Nothing when recording is off."""
    global _done
    if _done or not enabled():
        return
    _done = True
    from agentdbg.recording import http_seam

    for name in ("httpx", "httpx2"):
        on_import(name, http_seam.install)
