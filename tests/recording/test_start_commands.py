"""Which command lines start a Python that will be one of ours, and how they are told in a record."""

from __future__ import annotations

import os
import sys

import pytest

from agentdbg.recording import starts
from agentdbg.recording.start_commands import BOOTSTRAPS, letters, of_command, without_temporary

OURS = {"AGENTDBG_LAUNCH": "/launch", "PYTHONPATH": os.path.join("/src", BOOTSTRAPS[0])}


@pytest.fixture(autouse=True)
def _marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "marker", "AGENTDBG_LAUNCH")
    monkeypatch.setenv("TMPDIR", "/scratch/tmp")


def _text(*words: str, program: str | None = None, env: dict[str, str] | None = None) -> str | None:
    return of_command(program, list(words), OURS if env is None else env, lambda word: word)


def test_a_command_is_told_without_the_interpreter_and_its_options() -> None:
    assert _text(sys.executable, "-W", "ignore", "child.py", "a", "--b") == "python child.py a --b"
    assert _text("python3", "-m", "child", "a") == "python -m child a"
    assert _text("name", "-c", "print(1)", program="/usr/bin/python3.11") == "python -c print(1)"


@pytest.mark.parametrize("options", [["-I"], ["-S"], ["-E"], ["-sE"], ["-IB"], ["-W", "x", "-S"]])
def test_a_python_that_loads_no_bootstrap_is_none_of_ours(options: list[str]) -> None:
    assert _text(sys.executable, *options, "child.py") is None


def test_what_looks_like_such_an_option_and_is_none() -> None:
    assert letters(["-W", "IES", "-XES", "--check-hash-based-pycs", "IES", "-u"]) == {"u"}


@pytest.mark.parametrize("words", [["git", "status"], ["sh", "-c", "python x"], ["/bin/true"], ["pythonic", "x"], []])
def test_other_programs_are_none_of_ours(words: list[str]) -> None:
    assert _text(*words) is None


@pytest.mark.parametrize("env", [{}, {"AGENTDBG_LAUNCH": "/launch"}, {**OURS, "PYTHONPATH": "/mine"}])
def test_a_python_without_our_variables_is_none_of_ours(env: dict[str, str]) -> None:
    assert _text(sys.executable, "child.py", env=env) is None


def test_names_of_temporary_files_are_left_out() -> None:
    assert without_temporary("--in=/tmp/tmpx1/a.json") == without_temporary("--in=/scratch/tmp/tmpy2/b.json")
    assert without_temporary("/home/me/tmp/a") == "/home/me/tmp/a"
