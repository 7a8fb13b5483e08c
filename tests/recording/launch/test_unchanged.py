"""A program says and does the same to the byte, with and without ``agentdbg record``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recording.launch.programs import PROGRAMS, Program
from tests.support.environments import NoInterpreter, environment
from tests.support.launching import both

QUICK = ("look", "shadowed random", "traceback in a hooked module", "user's sitecustomize raises")
VERSIONS = ("3.11", "3.12", "3.13")


def agents_python(version: str | None = None) -> Path:
    """A Python of an environment that has neither agentdbg nor orjson."""
    try:
        return environment(python=version)
    except NoInterpreter as missing:
        pytest.skip(str(missing))


def assert_unchanged(python: Path, program: Program, cwd: Path) -> None:
    for name, text in program.files.items():
        path = cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    env = {name: value.format(cwd=cwd) for name, value in program.env.items()}
    bare, recorded = both([python, *program.words], cwd, stdin=program.stdin, env=env)
    assert recorded == bare


@pytest.mark.parametrize("name", QUICK)
def test_a_program_is_unchanged(name: str, tmp_path: Path) -> None:
    assert_unchanged(agents_python(), PROGRAMS[name], tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_unchanged_on_every_python(name: str, version: str, tmp_path: Path) -> None:
    assert_unchanged(agents_python(version), PROGRAMS[name], tmp_path)
