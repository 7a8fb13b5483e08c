"""The promises that the project's own files make: set-up commands, lock file, size of modules and functions."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST_MODULE = 400
LONGEST_FUNCTION = 50


def test_the_readme_has_the_two_setup_commands_on_their_own_lines() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line.strip() for line in lines if re.match(r" +python3 -m venv ", line)]
    assert commands == [
        'python3 -m venv .venv && .venv/bin/pip install -q ".[demo]" && .venv/bin/agentdbg demo',
        'python3 -m venv .venv && .venv/bin/pip install -q -e ".[test]" && .venv/bin/pytest -q -n auto',
    ]


def test_the_lock_file_pins_every_dependency_with_hashes_and_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    pins = re.findall(r"^([a-z0-9-]+)==\S+.*\\\n +--hash=sha256:", lock, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[a-z0-9]", lock, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["demo"], *extras["test"]]
    assert {re.split(r"[<>=]", name)[0] for name in wanted} <= set(pins)


def test_modules_and_functions_stay_short() -> None:
    long = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if source.count("\n") > LONGEST_MODULE:
            long.append(f"{path.name}: {source.count(chr(10))} lines")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                length = node.end_lineno - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    long.append(f"{path.name}: {node.name} {length} lines")
    assert long == []
