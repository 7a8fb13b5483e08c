"""Runs inside the Python that is looked at: imports what can be recorded, and tells whether it was patched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module, metadata
from importlib.util import find_spec

from agentdbg.recording.hooks import problems

PATCHED, UNPATCHED, ABSENT = "patched", "unpatched", "absent"


def main(path: str, modules: Mapping[str, str]) -> None:
    """Try each module; ``modules`` gives its distribution. Every finding is a line of JSON, added to ``path``."""
    _tell(path, {"orjson": find_spec("orjson") is not None})
    for module, label in modules.items():
        _tell(path, {"trying": module})
        state, reason = _try(module)
        version = _version(label)
        if state == ABSENT and version:
            state, reason = UNPATCHED, f"this version has no module {module}"
        _tell(path, {"module": module, "version": version, "state": state, "reason": reason})


def _try(module: str) -> tuple[str, str]:
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            return ABSENT, ""
        return UNPATCHED, f"cannot be imported: {error}"
    except BaseException as error:  # SystemExit and worse: other people's modules
        return UNPATCHED, f"cannot be imported: {type(error).__name__}: {error}"
    found = [problem for problem in problems if problem.startswith(f"{module} is not covered")]
    return (UNPATCHED, found[0]) if found else (PATCHED, "")


def _version(label: str) -> str:
    try:
        return metadata.version(label)
    except (metadata.PackageNotFoundError, ValueError):
        return ""


def _tell(path: str, members: Mapping[str, object]) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(members) + "\n")
