"""The version of this program."""

from __future__ import annotations


def tool_version() -> str:
    """Name and version, as files that it makes state them."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"agentdbg {version('agentdbg-tui')}"
    except PackageNotFoundError:
        return "agentdbg"
