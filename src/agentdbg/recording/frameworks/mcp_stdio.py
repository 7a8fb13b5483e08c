"""MCP servers that are child processes: see ``mcp_link``. In a replay none is started.

A server is a program of its own behind its messages, which are what is recorded: its process is in no run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from agentdbg.recording import launched
from agentdbg.recording.frameworks.mcp_link import linked
from agentdbg.recording.frameworks.patches import missing, replace_function


def install(module: ModuleType) -> None:
    """Patch ``mcp.client.stdio``. Idempotent."""
    if not replace_function(module, "stdio_client", "", _apart):
        missing("mcp", "stdio_client")


def _apart(original: Callable[..., Any]) -> Callable[..., Any]:
    link = linked(original)

    def connect(server: Any, *args: Any, **kwargs: Any) -> Any:
        return link(_unrecorded(server), *args, **kwargs)

    return connect


def _unrecorded(server: Any) -> Any:
    """The same parameters; where the server would be told to record itself, told not to."""
    environ = getattr(server, "env", None)
    if not isinstance(environ, Mapping) or launched.LAUNCH not in environ:
        return server
    return server.model_copy(update={"env": {**environ, "AGENTDBG": "off"}})
