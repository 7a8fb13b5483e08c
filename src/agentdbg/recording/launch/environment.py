"""The variables that a launched program gets. Everything else in its environment stays as it was."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing has it: loaded in recorded processes too
if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
BOOTSTRAP = os.path.join(HERE, "bootstrap")
_TAIL = os.path.join("agentdbg", "recording", "launch", "bootstrap")
_LARGEST_HASH_SEED = 4_294_967_295


def with_bootstrap(path: str) -> str:
    """A PYTHONPATH with the bootstrap first; that of another launch around this one, and an earlier place, go."""
    kept = [place for place in path.split(os.pathsep) if not place.endswith(_TAIL)] if path else []
    return os.pathsep.join([BOOTSTRAP, *kept])


def new_hash_seed() -> str:
    """A random hash seed; never 0, which switches hash randomization off."""
    return str(1 + int.from_bytes(os.urandom(8), "big") % _LARGEST_HASH_SEED)


def inherited() -> dict[str, str]:
    """This process's environment as it was started with: Python itself may have added a locale to it (PEP 538)."""
    found = dict(os.environ)
    if "LC_CTYPE" in found and sys.platform == "linux":
        try:
            with open("/proc/self/environ", "rb") as file:
                first = file.read().split(b"\0")
        except OSError:
            return found
        if not any(entry.startswith(b"LC_CTYPE=") for entry in first):
            del found["LC_CTYPE"]
    return found


def child_environment(base: Mapping[str, str], directory: str, store: str | None, tools: str | None) -> dict[str, str]:
    """Variables for the program.

    Args:
        base: What it would have got without us.
        directory: The launch's private directory.
        store: Absolute address of the store.
        tools: Declared tools as ``AGENTDBG_TOOLS`` has them; ``None`` leaves that variable alone.
    """
    from agentdbg.recording.launched import LAUNCH

    made = {**base, LAUNCH: directory, "PYTHONPATH": with_bootstrap(base.get("PYTHONPATH", ""))}
    if not made.get("PYTHONHASHSEED"):
        made["PYTHONHASHSEED"] = new_hash_seed()
    if store:
        made["AGENTDBG_STORE"] = store
    if tools is not None:
        made["AGENTDBG_TOOLS"] = tools
    made.pop("AGENTDBG_SPAWN", None)  # of a launch around this one
    return made
