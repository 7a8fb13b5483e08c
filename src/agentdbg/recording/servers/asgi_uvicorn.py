"""uvicorn, and gunicorn with uvicorn's workers: the loaded application is wrapped as the server calls it."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from agentdbg.recording.http_headers import patch


def install(module: ModuleType) -> None:
    """Patch how a server is configured and loads its application. Idempotent."""
    config = module.Config
    make, original = config.__init__, config.load

    @functools.wraps(make)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        _note_serving()  # in the process that watches over the workers too

    @functools.wraps(original)
    def load(self: Any) -> None:
        _note_serving()  # what the application does while it is imported is no run either
        original(self)
        _wrap(self)

    patch(config, "__init__", init)
    patch(config, "load", load)


def _note_serving() -> None:
    from agentdbg.recording.process import recorder

    found = recorder()
    if found is not None:
        found.serving = True


def _wrap(config: Any) -> None:
    from agentdbg.recording.process import recorder
    from agentdbg.recording.servers.asgi import ServedApp
    from agentdbg.recording.servers.places import place_of_import

    found = recorder()
    if found is None:
        return
    try:
        named = config.app if isinstance(config.app, str) else None
        place = place_of_import(named, factory=bool(config.factory)) if named is not None else None
        config.loaded_app = ServedApp(config.loaded_app, place, None if named is not None else config.app)
    except Exception as error:
        found.fault(error)
