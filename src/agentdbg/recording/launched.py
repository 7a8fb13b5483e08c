"""How this process was started: what a replay needs to start it again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

TAKES_A_VALUE = frozenset(("-W", "-X", "--check-hash-based-pycs"))
LAUNCH = "AGENTDBG_LAUNCH"
"""Names the launcher's private directory, in the environment of everything that it started."""


@dataclass(frozen=True, slots=True)
class Command:
    """A Python command line, taken apart.

    Attributes:
        options: Options of the interpreter.
        kind: ``script``, ``module``, ``code``, ``stdin`` or ``none`` (an interactive session).
        target: Path of the script, name of the module, or the code.
        arguments: What is left for the program.
    """

    options: tuple[str, ...]
    kind: str
    target: str
    arguments: tuple[str, ...]


def parsed(words: list[str]) -> Command:
    """Take the words after the interpreter's name apart, as the interpreter does."""
    options: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-":
            return Command(tuple(options), "stdin", "", tuple(rest))
        if not word.startswith("-"):
            return Command(tuple(options), "script", word, tuple(rest))
        for kind, letter in (("code", "c"), ("module", "m")):
            before, found, value = word.partition(letter)
            if found and not word.startswith("--") and not set(before[1:]) & set("WXcm"):
                if before != "-":
                    options.append(before)
                target = value or (rest.pop(0) if rest else "")
                return Command(tuple(options), kind, target, tuple(rest))
        options.append(word)
        if word in TAKES_A_VALUE and rest:
            options.append(rest.pop(0))
    return Command(tuple(options), "none", "", ())


def launch_entry(neutral: Callable[[str], str], redact: Callable[[str], str], cwd: str) -> dict[str, object] | None:
    """The launch as it stands in ``run.json``.

    ``None`` without ``agentdbg record``, which fixes what a second start needs, and when the program was typed or piped
    in.

    Args:
        neutral: Takes this machine's directories out of a path.
        redact: Takes secrets out of a word.
        cwd: The working directory the program was started in.
    """
    if not active:
        return None
    command = parsed(sys.orig_argv[1:])
    if command.kind in ("none", "stdin"):
        return None
    target = command.target
    if command.kind == "script":
        target = neutral(os.path.abspath(os.path.join(cwd, target)))
    return {
        "kind": command.kind,
        "target": target if command.kind != "code" else redact(target),
        "options": list(command.options),
        "arguments": [redact(word) for word in command.arguments],
        "hash_seed": os.environ.get("PYTHONHASHSEED") or "random",
        "random_seed": random_seed,
    }


active = False
"""Whether ``agentdbg record`` started this process; its bootstrap says so."""
random_seed: int | None = None
"""What the launched program's ``random`` was seeded with, so that a replay can do the same."""
