"""MCP servers on stdio and behind HTTP, talked to directly and by the frameworks' own adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Effect, Kind
from tests.matrix.scenario import refund_desk
from tests.matrix.versions import Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab

pytestmark = pytest.mark.wide
NEW = Versions(("mcp",), "3.13")
OLD = Versions(("mcp==1.9.4", "pydantic==2.11.7"), "3.11")
SERVER = '''
import logging, os, sys

logging.disable()
try:
    from mcp.server.mcpserver import Context, MCPServer as Server
    server, options = Server("desk"), {"host": "127.0.0.1"}
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP as Server
    server, options = Server("desk", host="127.0.0.1", port=int(sys.argv[2])), {}
from mcp.types import ToolAnnotations

def note(what):
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write(what + "\\n")

@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def get_order(order_id: str) -> dict:
    """Read an order."""
    note("order")
    return {"order_id": order_id, "state": "delivered-late"}

@server.tool()
async def get_policy(category: str, ctx: Context) -> str:
    """Read a policy."""
    note("policy")
    await ctx.report_progress(1, 2)
    return "refund-policy-7"

@server.tool(annotations=ToolAnnotations.model_validate({"destructiveHint": True}))
def execute_refund(order_id: str, amount: float, currency: str) -> dict:
    """Pay the money back."""
    note("refund")
    if order_id == "none":
        raise ValueError("no such order")
    return {"refund_id": "R-5501"}

if sys.argv[1] == "stdio":
    server.run()
else:
    server.run("streamable-http", **({**options, "port": int(sys.argv[2])} if options else {}))
'''
CLIENT = """
import asyncio, os, socket, subprocess, sys, time
import agentdbg
import mcp.client.streamable_http as http
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVE = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py")]
OFF = dict(os.environ, AGENTDBG="off")

async def talk(read, write):
    found = []

    async def progress(done, total=None, message=None):
        found.append([done, total])

    async with ClientSession(read, write) as session:
        await session.initialize()
        found.append(sorted(tool.name for tool in (await session.list_tools()).tools))
        both = await asyncio.gather(
            session.call_tool("get_order", {"order_id": "O-1"}),
            session.call_tool("get_policy", {"category": "electronics"}, progress_callback=progress),
        )
        refund = await session.call_tool("execute_refund", {"order_id": "none", "amount": 1.0, "currency": "EUR"})
        found += [result.content[0].text for result in (*both, refund)]
        try:
            await session.get_prompt("nothing")
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found

async def connected(mode, port):
    if mode == "stdio":
        parameters = StdioServerParameters(command=sys.executable, args=[*SERVE, "stdio", "0"], env=OFF)
        async with stdio_client(parameters) as (read, write):
            return await talk(read, write)
    connect = getattr(http, "streamable_http_client", None) or http.streamablehttp_client
    async with connect(f"http://127.0.0.1:{port}/mcp") as (read, write, *_):
        return await talk(read, write)

@agentdbg.agent
def main(mode, port):
    return asyncio.run(connected(mode, port))

def serve():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, *SERVE, "http", str(port)], env=OFF)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, port
        except OSError:
            time.sleep(0.05)

if __name__ == "__main__":
    process, port = serve() if sys.argv[1] == "http" else (None, 0)
    try:
        main(sys.argv[1], port)
    finally:
        if process is not None:
            process.kill()
            process.wait()
"""
FRAMEWORKS = """
import asyncio, os, sys
import agentdbg

SERVE = dict(
    command=sys.executable,
    args=[os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py"), "stdio", "0"],
    env=dict(os.environ, AGENTDBG="off"),
)

async def openai_agents():
    from agents import Agent, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStdio

    set_tracing_disabled(True)
    async with MCPServerStdio(params=SERVE, client_session_timeout_seconds=60) as server:
        return (await Runner.run(Agent(name="desk", model="gpt-x", mcp_servers=[server]), "refund O-7741")).final_output

async def pydantic_ai():
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel

    desk = Agent(OpenAIChatModel("gpt-x"), name="desk", toolsets=[MCPToolset(StdioTransport(**SERVE))])
    async with desk:
        return (await desk.run("refund O-7741")).output

async def smolagents():
    import smolagents
    from mcp import StdioServerParameters

    model = smolagents.OpenAIModel("gpt-x", api_base=os.environ["OPENAI_BASE_URL"], api_key="k")
    with smolagents.MCPClient(StdioServerParameters(**SERVE), structured_output=False) as tools:
        desk = smolagents.ToolCallingAgent(tools=tools, model=model, name="desk", verbosity_level=-1)
        return str(desk.run("refund O-7741"))

@agentdbg.agent
def main(framework):
    return asyncio.run(globals()[framework]())

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Callable[[Versions], FrameworkLab]]:
    def make(versions: Versions) -> FrameworkLab:
        lab = FrameworkLab(tmp_path, environment(*versions.requirements, python=versions.python))
        lab.write(SERVER, "server.py")
        lab.provider.default = refund_desk
        made.append(lab)
        return lab

    made: list[FrameworkLab] = []
    yield make
    for lab in made:
        lab.provider.stop()


@pytest.mark.parametrize("versions", [pytest.param(NEW, id="new"), pytest.param(OLD, id="old")])
@pytest.mark.parametrize("mode", ["stdio", "http"])
def test_every_request_is_a_step_and_a_replay_needs_no_server(
    laboratory: Callable[..., FrameworkLab], versions: Versions, mode: str
) -> None:
    lab = laboratory(versions)
    lab.record(CLIENT, mode)
    assert lab.outline() == [
        "agent main",
        "  http mcp initialize",
        "  http mcp tools/list",
        "  tool get_order",
        "  tool get_policy",
        "  tool execute_refund",
        "  http mcp prompts/get",
    ]
    tools = lab.tools()
    assert [tools[name].effect for name in ("get_order", "get_policy", "execute_refund")] == [
        Effect.READ,
        Effect.EXTERNAL,
        Effect.EXTERNAL,
    ]
    assert tools["get_policy"].attrs["effect_declared"] is False
    assert "effect_declared" not in tools["execute_refund"].attrs
    assert lab.body(tools["get_order"].arguments) == {"order_id": "O-1"}
    assert lab.body(tools["execute_refund"].result)["isError"] is True
    assert lab.steps(Kind.HTTP)[-1].status.value == "error"
    names, *progress, order, policy, refund, prompt = lab.returned()
    assert names == ["execute_refund", "get_order", "get_policy"] and progress == [[1.0, 2.0]]
    assert "delivered-late" in order and policy == "refund-policy-7" and "rror" in refund and "nothing" in prompt
    lab.replay_five_times()


@pytest.mark.parametrize(
    ("framework", "requirements"),
    [
        ("openai_agents", ("openai-agents",)),
        ("pydantic_ai", ("pydantic-ai-slim[openai,mcp]",)),
        ("smolagents", ("smolagents[openai,mcp]", "mcp<2")),
    ],
)
def test_a_tool_of_a_server_that_a_framework_calls_is_one_step(
    laboratory: Callable[..., FrameworkLab], framework: str, requirements: tuple[str, ...]
) -> None:
    lab = laboratory(Versions(requirements, "3.12"))
    lab.record(FRAMEWORKS, framework)
    assert sorted(step.name for step in lab.steps(Kind.TOOL)) == ["execute_refund", "get_order", "get_policy"]
    assert lab.tools()["get_order"].effect is Effect.READ
    assert lab.body(lab.tools()["get_order"].arguments) == {"order_id": "O-7741"}
    assert len(lab.steps(Kind.MODEL)) >= 3
    assert sorted((lab.outside / "log").read_text().split()) == ["order", "policy", "refund"]
    lab.replay_five_times()
