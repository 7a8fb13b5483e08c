"""uvicorn, and gunicorn with uvicorn's workers: the loaded application is wrapped as the server calls it."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from agentdbg.recording.http_headers import patch


def install(module: ModuleType) -> None:
    """Patch how a server's configuration loads its application. Idempotent."""
    config = module.Config
    original = config.load

    @functools.wraps(original)
    def load(self: Any) -> None:
        from agentdbg.recording.process import recorder

        found = recorder()
        if found is not None:
            found.serving = True  # what the application does while it is imported is no run either
        original(self)
        if found is not None:
            found.guard(lambda: _wrap(self), None)

    patch(config, "load", load)


def _wrap(config: Any) -> None:
    from agentdbg.recording.servers.asgi import ServedApp
    from agentdbg.recording.servers.places import place_of_import

    named = config.app if isinstance(config.app, str) else None
    place = place_of_import(named, factory=bool(config.factory)) if named is not None else None
    config.loaded_app = ServedApp(config.loaded_app, place, None if named is not None else config.app)
