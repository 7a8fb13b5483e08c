"""Which Python a command line starts is seen without running it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.recording.launch.interpreter import Interpreter, interpreter_of


@pytest.mark.parametrize(
    ("line", "words", "options"),
    [
        ("python agent.py -I", "python", ""),
        ("/x/python3.12 -sE -c code", "/x/python3.12", "-sE"),
        ("python3 -X dev -I -m mod -S", "python3", "-X dev -I"),
        ("env A=1 -u B python -S a.py", "python", "-S"),
        ("env -S 'python -I' a.py", "python", "-I"),
        ("nohup python a.py", "python", ""),
        ("nice -n 5 python -I a.py", "python", "-I"),
        ("uv run --with x python -I a.py", "uv run --with x python", "-I"),
        ("uv run -- agent --flag", "uv run python", ""),
        ("uv run --script a.py", "uv run python", ""),
        ("poetry run uvicorn app:app", "poetry run python", ""),
        ("pypy3 a.py", "pypy3", ""),
    ],
)
def test_command_lines(line: str, words: str, options: str) -> None:
    import shlex

    found = interpreter_of(shlex.split(line), {"PATH": ""})
    assert found == Interpreter(tuple(words.split()), tuple(options.split()))


@pytest.mark.parametrize(
    ("first", "words", "options"),
    [
        ("#!/venv/bin/python", "/venv/bin/python", ()),
        ("#!/usr/bin/python3 -sE", "/usr/bin/python3", ("-sE",)),
        ("#!/usr/bin/env python3", "python3", ()),
        ("#!/usr/bin/env -S python3 -I -X dev", "python3", ("-I", "-X", "dev")),
        ("#!/bin/sh\n'''exec' \"/long path/python\" \"$0\" \"$@\"\n' '''", "/long path/python", ()),
    ],
)
def test_scripts(first: str, words: str, options: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text(f"{first}\nimport sys\n")
    script.chmod(0o755)
    found = interpreter_of(["tool", "-S"], {"PATH": str(tmp_path)})
    assert found == interpreter_of([str(script)], {}) == Interpreter((words,), options)


@pytest.mark.parametrize("line", ["sh -c python", "no-such", "/", "pythonista", ""])
def test_what_is_no_python(line: str, tmp_path: Path) -> None:
    (tmp_path / "loop").write_text("#!loop\n")
    assert interpreter_of(line.split(), {"PATH": "/usr/bin:/bin"}) is None
    assert interpreter_of([str(tmp_path / "loop")], {"PATH": str(tmp_path)}) is None


@pytest.mark.parametrize(
    ("options", "ignores_environment", "ignores_site"),
    [(("-I",), True, False), (("-sE",), True, False), (("-S",), False, True), (("-W", "ignore"), False, False)],
)
def test_options(options: tuple[str, ...], ignores_environment: bool, ignores_site: bool) -> None:
    found = Interpreter(("python",), options)
    assert (found.ignores_environment, found.ignores_site) == (ignores_environment, ignores_site)


def test_values_of_options_are_none() -> None:
    found = interpreter_of(["python", "-WIS", "-X", "-ES", "-c", "x"], {})
    assert found is not None
    assert not found.ignores_environment
    assert not found.ignores_site


@given(
    st.lists(st.text(max_size=6) | st.sampled_from(["env", "uv", "run", "-S", "python", "-I", "--", "/bin/sh", "-m"]))
)
def test_anything_may_stand_in_a_command_line(words: list[str]) -> None:
    interpreter_of([word.replace("\0", "") for word in words], {"PATH": "/usr/bin:/bin"})
