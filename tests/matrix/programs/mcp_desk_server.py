"""The refund desk's tools as an MCP server on stdio."""

from __future__ import annotations

import logging
from typing import Any

import desk

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # before version 2

logging.disable()
server: Any = Server("refund-desk")


@server.tool()
def get_order(order_id: str) -> dict[str, Any]:
    """Read an order."""
    return desk.read_order(order_id)


@server.tool()
def get_policy(category: str) -> dict[str, Any]:
    """Read a policy."""
    return desk.read_policy(category)


@server.tool()
def execute_refund(order_id: str, amount: float, currency: str) -> dict[str, Any]:
    """Pay the money back."""
    return desk.pay_refund(order_id, amount, currency)


if __name__ == "__main__":
    server.run()
