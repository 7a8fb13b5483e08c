"""The table of seams: which modules are patched once they have been imported, and by which of ours."""

from __future__ import annotations

import os

from agentdbg.recording.hooks import on_import, problems

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class Seam:
    """One patched module.

    Attributes:
        module: The module whose import triggers the patch.
        home: Module below ``agentdbg.recording`` whose ``install(module)`` patches it.
        label: Distribution that it belongs to, as ``doctor`` names it.
    """

    __slots__ = ("home", "label", "module")

    def __init__(self, module: str, home: str, label: str) -> None:
        self.module = module
        self.home = home
        self.label = label


SEAMS = (
    Seam("httpx", "http_seam", "httpx"),
    Seam("httpx2", "http_seam", "httpx2"),
    Seam("requests.adapters", "requests_seam", "requests"),
    Seam("aiohttp.client", "aiohttp_seam", "aiohttp"),
    Seam("botocore.httpsession", "botocore_seam", "botocore"),
    Seam("langchain_core.tools.base", "frameworks.langchain", "langchain-core"),
    Seam("langchain_core.retrievers", "frameworks.langchain_retrievers", "langchain-core"),
    Seam("langgraph.pregel", "frameworks.langgraph", "langgraph"),
    Seam("langgraph.types", "frameworks.langgraph_interrupts", "langgraph"),
    Seam("langgraph.checkpoint.base", "frameworks.langgraph_savers", "langgraph-checkpoint"),
    Seam("langgraph.store.base", "frameworks.langgraph_stores", "langgraph-checkpoint"),
    Seam("langgraph.checkpoint.sqlite", "frameworks.langgraph_connections", "langgraph-checkpoint-sqlite"),
    Seam("langgraph.checkpoint.sqlite.aio", "frameworks.langgraph_connections", "langgraph-checkpoint-sqlite"),
    Seam("langgraph.checkpoint.postgres", "frameworks.langgraph_connections", "langgraph-checkpoint-postgres"),
    Seam("langgraph.checkpoint.postgres.aio", "frameworks.langgraph_connections", "langgraph-checkpoint-postgres"),
    Seam("uuid_utils.compat", "uuid_utils_pins", "uuid-utils"),
    Seam("agents.run", "frameworks.openai_agents", "openai-agents"),
    Seam("agents.tool", "frameworks.openai_agents_tools", "openai-agents"),
    Seam("pydantic_ai.agent", "frameworks.pydantic_ai", "pydantic-ai"),
    Seam("pydantic_ai.toolsets.function", "frameworks.pydantic_ai_tools", "pydantic-ai"),
    Seam("smolagents.agents", "frameworks.smolagents", "smolagents"),
    Seam("smolagents.tools", "frameworks.smolagents_tools", "smolagents"),
    Seam("mcp.client.stdio", "frameworks.mcp_stdio", "mcp"),
    Seam("mcp.client.sse", "frameworks.mcp_http", "mcp"),
    Seam("mcp.client.streamable_http", "frameworks.mcp_http", "mcp"),
    Seam("logging", "servers.logs", "logging"),
    Seam("starlette.applications", "servers.asgi", "starlette"),
    Seam("uvicorn.config", "servers.asgi_uvicorn", "uvicorn"),
    Seam("celery.app.base", "servers.celery", "celery"),
    Seam("opentelemetry.trace", "servers.otel", "opentelemetry-api"),
)


def install() -> None:
    """Have every seam patched now or when its module will have been imported."""
    for seam in SEAMS:
        on_import(seam.module, _Patch(seam.home))


class _Patch:
    """Patches one module; imports the seam's own code only then."""

    __slots__ = ("_home",)

    def __init__(self, home: str) -> None:
        self._home = home

    def __call__(self, module: ModuleType) -> None:
        if not os.path.exists(os.path.join(_HERE, *self._home.split(".")) + ".py"):
            problems.append(f"{module.__name__} is not covered")
            return
        from importlib import import_module

        import_module(f"agentdbg.recording.{self._home}").install(module)
