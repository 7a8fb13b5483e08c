"""MCP servers that are child processes: see ``mcp_link``. In a replay none is started."""

from __future__ import annotations

from types import ModuleType

from agentdbg.recording.frameworks.mcp_link import linked
from agentdbg.recording.frameworks.patches import missing, replace_function


def install(module: ModuleType) -> None:
    """Patch ``mcp.client.stdio``. Idempotent."""
    if not replace_function(module, "stdio_client", "", linked):
        missing("mcp", "stdio_client")
