"""Files that the program makes say which program that was."""

from __future__ import annotations

from agentdbg.cli.version import tool_version
from tests.support.program import agentdbg


def test_it_is_what_the_program_says() -> None:
    assert agentdbg("--version").stdout == f"{tool_version()}\n"
