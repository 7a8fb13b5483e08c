"""Which kernel layers of a replay this machine has: each is tried, in a process of its own that is gone afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SECONDS: Final = 20.0
NEEDED: Final = ("privileges given up", "landlock", "seccomp")
"""Without these nothing is run under ``--guard auto``."""
LAYERS: Final = ("seccomp", "landlock", "network namespace", "privileges given up", "copy-on-write view")
_START: Final = """\
import sys
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.guard_check import try_all
try_all(sys.argv[2])
"""


@dataclass(frozen=True, slots=True)
class Layer:
    """Attributes:
    held: Whether it works here.
    detail: Its version, or why it does not work.
    """

    name: str
    held: bool
    detail: str = ""


def layers_here() -> tuple[Layer, ...]:
    """Every kernel layer, tried now."""
    package = str(Path(__file__).resolve().parents[2])
    with tempfile.TemporaryDirectory(prefix="agentdbg-guard-") as place:
        for name in ("folder", "upper", "work"):
            (Path(place) / name).mkdir()
        try:
            found = _asked([sys.executable, "-I", "-c", _START, package, place])
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            found = {name: [False, f"cannot be tried: {type(problem).__name__}"] for name in LAYERS}
        with suppress(OSError):
            (Path(place) / "work" / "work").chmod(0o700)
    return tuple(Layer(name, *found.get(name, (False, "cannot be tried"))) for name in LAYERS)


def _asked(command: list[str]) -> dict[str, Any]:
    """What the process found; that its filter's questions reach this one is tried from here."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        try:
            assert child.stdout is not None
            found: dict[str, Any] = json.loads(child.stdout.readline())
            if (listener := found.pop("listener", None)) is not None:
                found["seccomp"] = _taken(child.pid, listener)
            return found
        finally:
            child.kill()


def _taken(pid: int, listener: int) -> list[Any]:
    from agentdbg.replay.kernel.supervisor import take_listener

    try:
        os.close(take_listener(pid, listener))
    except OSError as problem:
        return [False, f"its questions do not reach another process: {problem.strerror}"]
    return [True, ""]


def try_all(place: str) -> None:
    """In the process of its own: put every layer in place, write down which are, and wait to be ended."""
    from agentdbg.replay.kernel import call_filter, calls, capabilities, landlock, namespaces

    found: dict[str, object] = {}

    def attempt(name: str, what: Callable[[], object]) -> object:
        try:
            detail = what()
        except (OSError, calls.KernelRefused) as problem:
            found[name] = [False, str(getattr(problem, "strerror", None) or problem)]
            return None
        found[name] = [True, detail if isinstance(detail, str) else ""]
        return detail

    def view() -> str:
        kept = [f"{place}/{name}" for name in ("folder", "upper", "work")]
        if not namespaces.cover([namespaces.View(kept[0], kept[1], kept[2])], place):
            raise calls.KernelRefused("no overlay can be laid")
        return ""

    try:
        calls.machine()
    except calls.KernelRefused as problem:
        print(json.dumps({name: [False, str(problem)] for name in LAYERS}), flush=True)
        return
    calls.prepare()
    attempt("network namespace", lambda: namespaces.enter() and "")
    if found["network namespace"] == [True, ""]:
        attempt("copy-on-write view", view)
    else:
        found["copy-on-write view"] = found["network namespace"]
    attempt("privileges given up", capabilities.give_up)
    attempt("landlock", lambda: f"ABI {landlock.restrict([place])}")
    found["listener"] = attempt("seccomp", lambda: call_filter.install(listened=True, alone=False))
    print(json.dumps(found), flush=True)
    sys.stdin.read()
