"""The environments of the matrix: for each framework the newest release and an old one, spread over three Pythons.

A requirement without a version is the newest release of the day the environment is built; the table names what that
was. Remove the environment from the cache to get newer ones.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Versions:
    """Packages that go together, and the Python they run on; ``None`` is the one that runs the tests."""

    requirements: tuple[str, ...]
    python: str | None


SDK_NEW = Versions(("openai", "anthropic"), "3.13")
SDK_OLD = Versions(("openai==1.99.9", "anthropic==0.60.0", "httpx==0.28.1"), "3.11")
UVLOOP = Versions(("openai", "uvloop"), "3.12")
LANGGRAPH_NEW = Versions(("langgraph", "langchain", "langchain-openai"), "3.13")
LANGGRAPH_HERE = Versions(LANGGRAPH_NEW.requirements, None)
LANGGRAPH_OLD = Versions(
    ("langgraph==0.2.76", "langchain-core==0.3.60", "langchain-openai==0.3.16", "openai==1.82.0"), "3.11"
)
LANGGRAPH_SQLITE_NEW = Versions((*LANGGRAPH_NEW.requirements, "langgraph-checkpoint-sqlite"), "3.13")
LANGGRAPH_SQLITE_OLD = Versions(
    (*LANGGRAPH_OLD.requirements, "langgraph-checkpoint-sqlite==2.0.10", "aiosqlite==0.20.0"), "3.11"
)
AGENTS_NEW = Versions(("openai-agents",), "3.12")
AGENTS_OLD = Versions(("openai-agents==0.2.11", "openai==1.104.2"), "3.11")
PYDANTIC_AI_NEW = Versions(("pydantic-ai-slim[openai]",), "3.13")
PYDANTIC_AI_OLD = Versions(("pydantic-ai-slim[openai]==1.0.0", "openai==1.107.0", "opentelemetry-api==1.30.0"), "3.11")
SMOLAGENTS_NEW = Versions(("smolagents[openai]",), "3.12")
SMOLAGENTS_OLD = Versions(("smolagents[openai]==1.10.0", "openai==1.66.0"), "3.11")
MCP_NEW = Versions(("mcp", "openai"), "3.13")
MCP_OLD = Versions(("mcp==1.12.4", "openai==1.99.9", "pydantic==2.11.7"), "3.11")
LITELLM_NEW = Versions(("litellm",), "3.12")
