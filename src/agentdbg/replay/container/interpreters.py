"""What a Python is and has: asked of the program's own here, and of the one in an image. Standard library only."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OLDEST: Final = (3, 11)
SECONDS: Final = 20.0
SCRIPT: Final = """\
import sys
if sys.version_info < (3, 11):
    sys.stdout.write('{"version": "%d.%d.%d"}' % sys.version_info[:3])
    sys.exit(0)
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.container import interpreters
interpreters.tell()
"""
"""Works on any Python that an image may have; its argument is where agentdbg is."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Attributes:
    version: ``3.11.7``.
    tag: What its compiled modules are for: ``cpython-311``.
    machine: ``x86_64``.
    libc: Name and version of the C library; the name is empty where it is not known.
    packages: Installed distributions with their versions.
    places: Where it looks for modules, beside its own standard library.
    """

    version: str
    tag: str = ""
    machine: str = ""
    libc: tuple[str, str] = ("", "")
    packages: Mapping[str, str | None] = field(default_factory=dict)
    places: tuple[str, ...] = ()

    @property
    def is_new_enough(self) -> bool:
        """Whether agentdbg runs on it."""
        return _numbers(self.version)[:2] >= OLDEST


def tell() -> None:
    """Write down what this Python is, as JSON."""
    from agentdbg.recording.environment import dependencies

    own = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    places = [place for place in sys.path[1:] if os.path.isdir(place)]
    found = {
        "version": ".".join(map(str, sys.version_info[:3])),
        "tag": sys.implementation.cache_tag,
        "machine": platform.machine(),
        "libc": platform.libc_ver(),
        "packages": dependencies(),
        "places": [place for place in places if not _is_standard(os.path.realpath(place), own)],
    }
    print(json.dumps(found))


def _is_standard(place: str, own: set[str]) -> bool:
    return place in own or (os.path.basename(place) == "lib-dynload" and os.path.dirname(place) in own)


def parsed(text: str) -> Interpreter | None:
    """What a Python told; ``None`` when it was none."""
    try:
        found: Any = json.loads(text.strip().splitlines()[-1])
        libc = found.get("libc") or ("", "")
        return Interpreter(
            str(found["version"]),
            str(found.get("tag", "")),
            str(found.get("machine", "")),
            (str(libc[0]), str(libc[1])),
            dict(found.get("packages") or {}),
            tuple(map(str, found.get("places") or ())),
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def ask(python: str, package: str) -> Interpreter | None:
    """What a Python on this machine is; ``None`` when it does not say.

    Args:
        python: The interpreter.
        package: The directory that agentdbg is in.
    """
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            [python, "-c", SCRIPT, package],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            cwd="/",
            env={**environ, "AGENTDBG": "off"},
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parsed(done.stdout)


def misfit(here: Interpreter, there: Interpreter) -> str:
    """Why packages that are installed for one Python do not run on another; empty when they do."""
    if here.tag != there.tag:
        return f"they are for {here.tag}, the image has {there.tag}"
    if here.machine != there.machine:
        return f"they are for {here.machine}, the image is {there.machine}"
    if here.libc[0] != there.libc[0] or not here.libc[0]:
        return f"they are for {here.libc[0] or 'another C library'}, the image has {there.libc[0] or 'another one'}"
    if _numbers(here.libc[1]) > _numbers(there.libc[1]):
        return f"they are for {' '.join(here.libc)}, the image has {there.libc[1]}"
    return ""


def lacking(recorded: Mapping[str, object], there: Interpreter) -> tuple[list[str], list[str]]:
    """Recorded packages that an image does not have, and those that it has in another version."""
    missing = [f"{name} {version}" for name, version in recorded.items() if name not in there.packages]
    others = [
        f"{name} {there.packages[name]} (recorded: {version})"
        for name, version in recorded.items()
        if name in there.packages and there.packages[name] != version
    ]
    return missing, others


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
