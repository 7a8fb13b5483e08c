"""Which Python a command line starts, as far as that can be seen without running it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentdbg.recording.launched import TAKES_A_VALUE, parsed

_PYTHON = re.compile(r"(python|pypy)\d*(\.\d+)*[a-z]?(\.exe)?\Z", re.IGNORECASE)
_VALUE_FOLLOWS = re.compile("[WXcm]")
_RUNNERS = ("uv", "poetry", "pdm", "hatch", "rye", "pipenv")
# fmt: off
_RUNNER_VALUES = frozenset((
    "--with", "--with-requirements", "--with-editable", "--python", "-p", "--extra", "--group", "--only-group",
    "--no-group", "--project", "--directory", "--env-file", "--package", "--index", "--index-url",
    "--default-index", "--extra-index-url", "--find-links", "-f", "-e", "--env", "--cache-dir", "--config-file",
    "--color", "-C", "--refresh-package", "--upgrade-package", "-P",
))
# fmt: on
_ENV_VALUES = frozenset(("-u", "--unset", "-C", "--chdir"))
_LONGEST_LINE = 4096
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python as a command line starts it.

    Attributes:
        words: What starts it: its path, or a runner and ``python``.
        options: The interpreter's options.
    """

    words: tuple[str, ...]
    options: tuple[str, ...] = ()

    def has(self, letter: str) -> bool:
        """Whether a one-letter option is given, alone or in a group (``-sE``)."""
        is_value = False
        for option in self.options:
            letters = "" if is_value or option.startswith("--") else _VALUE_FOLLOWS.split(option[1:], maxsplit=1)[0]
            if letter in letters:
                return True
            is_value = not is_value and option in TAKES_A_VALUE
        return False

    @property
    def ignores_environment(self) -> bool:
        """Whether PYTHONPATH means nothing to it."""
        return self.has("I") or self.has("E")

    @property
    def ignores_site(self) -> bool:
        """Whether it starts without ``site``, and so without any bootstrap."""
        return self.has("S")


def interpreter_of(command: Sequence[str], environment: Mapping[str, str]) -> Interpreter | None:
    """The Python that a command starts; ``None`` when none can be seen."""
    return _of(list(command), environment.get("PATH", os.defpath), _DEEPEST)


def _of(words: list[str], path: str, depth: int) -> Interpreter | None:
    if not words or depth == 0:
        return None
    name = os.path.basename(words[0])
    if _PYTHON.match(name):
        return Interpreter((words[0],), parsed(words[1:]).options)
    if name == "env":
        return _of(_after_env(words[1:]), path, depth - 1)
    if name in _RUNNERS and "run" in words[1:]:
        return _of_runner(words, path, depth)
    if name in ("exec", "nohup", "time", "nice", "setsid", "stdbuf", "caffeinate"):
        rest = words[1:]
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if name == "nice" and rest[0] == "-n" else rest[1:]
        return _of(rest, path, depth - 1)
    file = words[0] if os.sep in words[0] else shutil.which(words[0], path=path)
    first = _first_line(file) if file else []
    return _of([*first, words[0]], path, depth - 1) if first else None


def _after_env(words: list[str]) -> list[str]:
    """What ``env`` executes."""
    while words:
        word = words[0]
        if word in ("-S", "--split-string") and len(words) > 1:
            return [*_split(words[1]), *words[2:]]
        if word.startswith("-S"):
            return [*_split(word[2:]), *words[1:]]
        if word in _ENV_VALUES:
            words = words[2:]
        elif word.startswith("-") or "=" in word:
            words = words[1:]
        else:
            break
    return words


def _of_runner(words: list[str], path: str, depth: int) -> Interpreter:
    """``uv run …`` and the like: the Python that ``uv run python`` would start."""
    start = words.index("run") + 1
    place = start
    while place < len(words) and words[place].startswith("-") and words[place] != "--":
        if words[place] in ("-m", "--module", "-s", "--script"):
            break
        place += 2 if words[place] in _RUNNER_VALUES else 1
    rest = words[place + 1 :] if words[place : place + 1] == ["--"] else words[place:]
    inner = _of(rest, "", depth - 1) if rest and _PYTHON.match(os.path.basename(rest[0])) else None
    return Interpreter((*words[:place], "python"), inner.options if inner is not None else ())


def _first_line(file: str) -> list[str]:
    """The words of a script's ``#!`` line; of the line after it, where a long path made ``/bin/sh`` its interpreter."""
    try:
        with open(file, "rb") as script:
            lines = script.read(_LONGEST_LINE).split(b"\n", 2)
    except OSError:
        return []
    if not lines[0].startswith(b"#!"):
        return []
    first = os.fsdecode(lines[0][2:]).strip()
    if first == "/bin/sh" and len(lines) > 1 and lines[1].startswith(b"'''exec'"):
        return _split(os.fsdecode(lines[1])[len("'''exec'") :])[:1]
    program, _, argument = first.partition(" ")
    if not argument.strip():
        return [program]
    return [program, argument.strip()] if os.path.basename(program) != "env" else [program, *_env_words(argument)]


def _env_words(argument: str) -> list[str]:
    argument = argument.strip()
    return ["-S", argument[2:].strip()] if argument.startswith("-S") else [argument]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
