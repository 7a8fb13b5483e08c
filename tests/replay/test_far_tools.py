"""Tools on MCP servers in regression replays: no server is there, so they are answered by the record or refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.replay.outcome import Outcome
from tests.matrix.versions import Versions
from tests.support.environments import environment
from tests.support.framework_lab import FrameworkLab

pytestmark = pytest.mark.wide
MCP = Versions(("mcp",), "3.13")
SERVER = """
import logging, os

logging.disable()
try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server
from mcp.types import ToolAnnotations

server = Server("desk")

def note(what):
    with open(os.path.join(os.environ["OUTSIDE"], "log"), "a") as file:
        file.write(what)

@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def get_order(order_id: str) -> str:
    note("o")
    return "late"

@server.tool(annotations=ToolAnnotations.model_validate({"destructiveHint": True}))
def refund(order_id: str) -> str:
    note("r")
    return "done"

server.run()
"""
CLIENT = """
import asyncio, os, sys
import agentdbg
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py")

async def talk():
    parameters = StdioServerParameters(command=sys.executable, args=[SERVER], env=dict(os.environ, AGENTDBG="off"))
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        found = []
        for tool, order in (("get_order", "O-1"), ("refund", "O-1")):
            try:
                found.append((await session.call_tool(tool, {"order_id": order})).content[0].text)
            except Exception as error:
                found.append("agentdbg" in str(error))
        return found

@agentdbg.agent
def desk():
    return asyncio.run(talk())

if __name__ == "__main__":
    desk()
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[FrameworkLab]:
    found = FrameworkLab(tmp_path, environment(*MCP.requirements, python=MCP.python))
    found.write(SERVER, "server.py")
    found.record(CLIENT)
    yield found
    found.provider.stop()


def regress(lab: FrameworkLab, old: str, new: str, guard: str) -> Outcome:
    """Replay the changed program from its first step on."""
    assert old in CLIENT
    lab.write(CLIENT.replace(old, new))
    return lab.regress(guard=guard, start=1)


@pytest.mark.parametrize("guard", ["audit", "auto"])
def test_the_same_calls_are_answered_by_the_record(lab: FrameworkLab, guard: str) -> None:
    assert Path(os.fspath(lab.outside), "log").read_text() == "or"
    outcome = regress(lab, "if __name__", "\nif __name__", guard)
    assert (outcome.verdict, outcome.live, outcome.findings) == ("same", 0, ()), outcome.reason


@pytest.mark.parametrize("guard", ["audit", "auto"])
@pytest.mark.parametrize("tool", ["get_order", "refund"])
def test_other_calls_are_refused_to_the_agent(lab: FrameworkLab, guard: str, tool: str) -> None:
    outcome = regress(lab, f'("{tool}", "O-1")', f'("{tool}", "O-2")', guard)
    assert outcome.verdict == "changed", outcome.reason
    said = "no replay reaches its server, and the record has no such call with its outcome"
    assert [(each["name"], each["deed"], each["reason"]) for each in outcome.findings] == [(tool, "refuse", said)]
    assert (outcome.live, outcome.denied) == (0, 1)
