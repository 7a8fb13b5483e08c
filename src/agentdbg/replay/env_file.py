"""Variables for a replay that the record does not have: a file of ``NAME=VALUE`` lines. Never recorded."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(["'])(.*?)\1(?:\s*|\s+#.*)""")
_REMARK = re.compile(r"(?:^#\s|\s+#).*")
_OURS = re.compile(r"AGENTDBG.*|PYTHONPATH|PYTHONHOME|PYTHONSTARTUP|PYTHONHASHSEED|TMPDIR")


class BadEnvFile(ValueError):
    """The file cannot be used; the message says why, and never what is in it."""


def read_env_file(path: str) -> dict[str, str]:
    """The variables in a file, as a shell reads plain ones: ``#`` begins a comment, quotes around a value go away.

    Raises:
        BadEnvFile: It cannot be read, or a line is none.
    """
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise BadEnvFile(f"{path}: {(problem.strerror or 'cannot be read').lower()}") from problem
    except UnicodeDecodeError as problem:
        raise BadEnvFile(f"{path} is no text in UTF-8") from problem
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None or "\0" in line:
            raise BadEnvFile(f"{path}, line {number}: use NAME=VALUE")
        name, value = match.groups()
        if _OURS.fullmatch(name):
            raise BadEnvFile(f"{path}, line {number}: {name} steers the replay itself and cannot be set")
        found[name] = _value(value)
    return found


def _value(text: str) -> str:
    """A value without its quotes and what is remarked behind it."""
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2]
    return _REMARK.sub("", text)
