"""How a replay's child is started: its own code comes from here, whatever files the program has beside it.

A program may well have a ``platform.py`` or a folder ``agentdbg`` of its own. The places that are the program's are
therefore left off the search path until everything is loaded that the replay itself needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_LOAD = """\
import os, sys
places = [place or os.getcwd() for place in sys.path]
given = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
sys.path[:] = [sys.argv.pop(1), *(place for place in places if place not in given)]
from agentdbg.replay import child
child.search_path[:] = places
child.run_and_end()
"""


def child_command(python: str, options: Sequence[str], spec: Path) -> list[str]:
    """The command line of a replay's child.

    Args:
        python: The interpreter.
        options: Its options.
        spec: What is to be replayed.
    """
    return [python, *options, "-c", _LOAD, str(Path(__file__).resolve().parents[2]), str(spec)]
