"""The agent's side must not load the debugger's packages into somebody else's program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src"
AGENT_SIDE = (
    "model",
    "i18n",
    "config",
    "redaction",
    "store/journal",
    "store/retention",
    "recording",
    "replay/child",
)
FORBIDDEN = ("textual", "rich", "deepdiff", "watchfiles", "click", "asyncio")
PROBE = """
import sys
before = set(sys.modules)
import {module}
print(*sorted(name for name in {forbidden!r} if name in set(sys.modules) - before))
"""


def agent_side_modules() -> list[str]:
    """Every agent-side module that exists, by dotted name."""
    package = SRC / "agentdbg"
    found = [package / "__init__.py"]
    for room in AGENT_SIDE:
        path = package / room
        found += path.rglob("*.py") if path.is_dir() else [file for file in [path.with_suffix(".py")] if file.exists()]
    parts = (file.relative_to(SRC).with_suffix("").parts for file in sorted(found))
    return [".".join(part for part in names if part != "__init__") for names in parts]


@pytest.mark.parametrize("module", agent_side_modules())
def test_an_agent_side_module_loads_only_the_standard_library(module: str) -> None:
    probe = PROBE.format(module=module, forbidden=FORBIDDEN)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
