"""The cells of the matrix: a program, the versions it runs on, and what has to be in the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.matrix import versions
from tests.matrix.versions import Versions

FOUR = ("sync", "async", "sync stream", "async stream")
DECLARED = {"get_order": "read", "get_policy": "read"}
ALL_DECLARED = {**DECLARED, "execute_refund": "write"}
"""A plain function is no tool before somebody says so."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One program on one set of versions.

    Attributes:
        label: Framework as the table names it.
        program: File below ``programs``, without its ending.
        package: Distribution whose version the table shows.
        versions: Environment; ``None`` is the one that the tests run in.
        variants: Words for the command line (``sync`` is the absence of ``async``).
        declared: Effects named with ``--tool``; every other tool is external.
        parallel: The two reads run at once, so in lanes of their own.
        agent: The framework has an agent, below which everything happens.
        in_process: The tools run in the program itself, not in a server of its own.
        runs: How many calls of an agent the program makes, each a run.
        model_calls: How many turns the scene takes.
        core: Runs in the default suite: these variants.
    """

    label: str
    program: str
    package: str
    versions: Versions | None
    variants: tuple[str, ...] = FOUR
    declared: Mapping[str, str] = field(default_factory=lambda: DECLARED)
    parallel: bool = True
    agent: bool = True
    in_process: bool = True
    runs: int = 1
    model_calls: int = 3
    core: tuple[str, ...] = ()

    @property
    def nodes(self) -> bool:
        """The framework's tools run in nodes of a graph."""
        return self.program.startswith("lang")

    @property
    def name(self) -> str:
        """Short and unique."""
        return f"{self.program}-{self.age}"

    @property
    def age(self) -> str:
        """``own``, ``new`` or ``old``."""
        if self.versions is None:
            return "own"
        return "old" if any("==" in requirement for requirement in self.versions.requirements) else "new"

    def effect(self, tool: str) -> str:
        """The effect that the record has to name."""
        return self.declared.get(tool, "external")


def _plain(
    label: str,
    program: str,
    package: str,
    on: Versions | None,
    variants: tuple[str, ...] = FOUR,
    core: tuple[str, ...] = (),
) -> Cell:
    return Cell(label, program, package, on, variants, declared=ALL_DECLARED, agent=False, core=core)


_AGENTS = ("sync", "async", "async stream", "sync chat", "async stream chat")
_SDKS = (versions.SDK_NEW, versions.SDK_OLD)
_LANGGRAPHS = (versions.LANGGRAPH_NEW, versions.LANGGRAPH_OLD)
_SQLITES = (versions.LANGGRAPH_SQLITE_NEW, versions.LANGGRAPH_SQLITE_OLD)
_SAVER = "langgraph, SqliteSaver"
_REACT = "langgraph, create_react_agent"
_ONE_STREAM = ("sync", "async", "async stream")

CELLS = (
    _plain("openai, chat completions", "openai_chat", "openai", None, core=("sync", "async stream")),
    *(_plain("openai, chat completions", "openai_chat", "openai", on) for on in _SDKS),
    _plain("openai on uvloop", "openai_chat", "openai", versions.UVLOOP, ("async uvloop", "async stream uvloop")),
    *(_plain("openai, responses", "openai_responses", "openai", on) for on in _SDKS),
    *(_plain("anthropic, messages", "anthropic_messages", "anthropic", on) for on in _SDKS),
    *(
        Cell("openai-agents", "openai_agents", "openai-agents", on, _AGENTS)
        for on in (versions.AGENTS_NEW, versions.AGENTS_OLD)
    ),
    Cell(
        "langgraph, create_react_agent",
        "langgraph_react",
        "langgraph",
        versions.LANGGRAPH_HERE,
        ("sync",),
        core=("sync",),
    ),
    *(Cell("langgraph, create_react_agent", "langgraph_react", "langgraph", on) for on in _LANGGRAPHS),
    *(Cell("langgraph, StateGraph with ToolNode", "langgraph_nodes", "langgraph", on) for on in _LANGGRAPHS),
    *(
        Cell(_SAVER, "langgraph_saved", "langgraph", on, ("sync", "sync stream"), runs=2, model_calls=4)
        for on in _SQLITES
    ),
    *(Cell(_SAVER, "langgraph_saved", "langgraph", on, ("async", "async stream")) for on in _SQLITES),
    Cell("langchain, create_agent", "langchain_agent", "langchain", versions.LANGGRAPH_NEW),
    *(
        Cell("pydantic-ai", "pydantic_ai_agent", "pydantic-ai-slim", on, _ONE_STREAM)
        for on in (versions.PYDANTIC_AI_NEW, versions.PYDANTIC_AI_OLD)
    ),
    Cell(
        "smolagents, ToolCallingAgent",
        "smolagents_calling",
        "smolagents",
        versions.SMOLAGENTS_NEW,
        ("sync", "sync stream"),
    ),
    Cell(
        "smolagents, ToolCallingAgent",
        "smolagents_calling",
        "smolagents",
        versions.SMOLAGENTS_OLD,
        ("sync", "sync stream"),
        parallel=False,  # of several calls it runs the first
        model_calls=4,
    ),
    *(
        Cell("mcp, stdio", "mcp_openai", "mcp", on, ("async", "async stream"), agent=False, in_process=False)
        for on in (versions.MCP_NEW, versions.MCP_OLD)
    ),
    _plain("litellm", "litellm_chat", "litellm", versions.LITELLM_NEW),
)
