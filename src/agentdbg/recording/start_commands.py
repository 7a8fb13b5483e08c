"""Command lines that start a Python which is one of ours: recorded, or under the guard of a replay."""

from __future__ import annotations

import os
import re
import sys

from agentdbg.recording import launched, starts

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

BOOTSTRAPS = (
    os.path.join("agentdbg", "recording", "launch", "bootstrap"),
    os.path.join("agentdbg", "replay", "bootstrap"),
)
WITHOUT_US = frozenset("IES")
"""Letters of interpreter options under which no bootstrap is loaded."""
_PYTHON = re.compile(r"(python|pypy)\d*(\.\d+)*[a-z]?(\.exe)?\Z", re.IGNORECASE)
_TEMPORARY = r"(?<![\w.-])(?:/private)?(?:/var/folders|/var/tmp|/dev/shm|/tmp)/[^\s'\"=:,]+"
MOST_TEXT = 2_000


def of_command(
    program: object, argv: object, environ: Mapping[str, str] | None, clean: Callable[[str], str]
) -> str | None:
    """The text of a command line that starts a Python which will be one of ours; ``None`` for every other.

    Args:
        program: The executable, where it is given apart.
        argv: The words.
        environ: The variables it gets; ``None``: those of this process.
        clean: Takes secrets and this machine's directories out of a word.
    """
    words = [os.fsdecode(word) for word in argv] if isinstance(argv, list | tuple) else []
    if not starts.marker or not words or not is_ours(os.environ if environ is None else environ):
        return None
    name = os.fsdecode(program) if isinstance(program, str | bytes | os.PathLike) else words[0]
    if not is_python(name):
        return None
    command = launched.parsed(words[1:])
    if letters(command.options) & WITHOUT_US:
        return None
    target = {"module": f"-m {command.target}", "code": f"-c {command.target}"}.get(command.kind, command.target)
    found = ["python", clean(target), *(clean(without_temporary(word)) for word in command.arguments)]
    return " ".join(found)[:MOST_TEXT]


def is_ours(environ: Mapping[Any, Any]) -> bool:
    """Whether a Python with these variables loads a bootstrap."""
    try:
        known = {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()}
    except TypeError:
        return False
    first = known.get("PYTHONPATH", "").partition(os.pathsep)[0]
    return bool(known.get(starts.marker)) and first.endswith(BOOTSTRAPS)


def is_python(path: str) -> bool:
    """Whether a program is a Python, by its name or because it is this one."""
    return bool(_PYTHON.match(os.path.basename(path))) or path == sys.executable


def letters(options: Sequence[str]) -> set[str]:
    """The one-letter options among the options of an interpreter."""
    found: set[str] = set()
    is_value = False
    for option in options:
        if not is_value and not option.startswith("--"):
            found.update(re.split("[WXcm]", option[1:], maxsplit=1)[0])
        is_value = not is_value and option in launched.TAKES_A_VALUE
    return found


def without_temporary(word: str) -> str:
    """A word with a mark in place of temporary files, whose names are others each time."""
    own = os.environ.get("TMPDIR", "")
    patterns = [re.escape(own) + r"(?:/[^\s'\"=:,]*)?"] if len(own) > 1 else []
    return re.sub("|".join([*patterns, _TEMPORARY]), "{tmp}", word)
