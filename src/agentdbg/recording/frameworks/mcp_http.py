"""MCP servers behind HTTP, streamable or as events: see ``mcp_link``. The requests that carry messages are no steps."""

from __future__ import annotations

from types import ModuleType

from agentdbg.recording.frameworks.mcp_link import linked
from agentdbg.recording.frameworks.patches import missing, replace_function

_NAMES = ("streamable_http_client", "streamablehttp_client", "sse_client")


def install(module: ModuleType) -> None:
    """Patch ``mcp.client.streamable_http`` or ``mcp.client.sse``. Idempotent."""
    found = [replace_function(module, name, "", linked) for name in _NAMES]
    if not any(found):
        missing("mcp", f"client in {module.__name__}")
