"""Long-term memory of LangGraph: see `agentdbg.recording.frameworks.langgraph_savers`."""

from __future__ import annotations

from types import ModuleType

from agentdbg.recording.frameworks.langgraph_savers import install_store


def install(module: ModuleType) -> None:
    """Patch ``langgraph.store.base``."""
    install_store(module)
