"""Installs the seams once, when the first name of the package is used. Light: the recorder is loaded later."""

from __future__ import annotations

import os

from agentdbg.recording.hooks import on_import

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from types import ModuleType

_done = False


def enabled() -> bool:
    """Whether ``AGENTDBG=off`` is absent."""
    return os.environ.get("AGENTDBG", "").lower() not in ("off", "0", "false", "no")


def install() -> None:
    """Patch the HTTP clients that are loaded, and those that will be. Nothing when recording is off."""
    global _done
    if _done or not enabled():
        return
    _done = True
    for name in ("httpx", "httpx2"):
        on_import(name, _http)


def _http(module: ModuleType) -> None:
    from agentdbg.recording import http_seam

    http_seam.install(module)
