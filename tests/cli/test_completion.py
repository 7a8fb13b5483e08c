"""Shells learn commands and options."""

from __future__ import annotations

import pytest

from tests.support.program import agentdbg


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed(shell: str) -> None:
    done = agentdbg("completion", shell)
    assert done.returncode == 0
    assert "_AGENTDBG_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("words", "position", "expected"), [("agentdbg ru", 1, "runs"), ("agentdbg runs --st", 2, "--status")]
)
def test_the_program_completes(words: str, position: int, expected: str) -> None:
    asked = {"_AGENTDBG_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(position)}
    assert f"plain,{expected}" in agentdbg(env=asked).stdout.splitlines()
