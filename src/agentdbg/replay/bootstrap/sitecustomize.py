"""Puts a Python that a replay's program started under the guard of that replay; nothing in any other.

The only file in a directory that a replay puts first on PYTHONPATH, where ``site`` imports it ahead of the program.
Where it fails the process ends, so that nothing runs without the guard.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


class AgentdbgFinder:
    """Finds ``agentdbg`` where the replay has it, and nothing else."""

    def __init__(self, root: str, find: Callable[..., Any]) -> None:
        self._path = [root]
        self._find = find

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The spec of the package itself; its modules are found through its ``__path__``."""
        return self._find(name, self._path) if name == "agentdbg" else None


def _begin() -> None:
    if not os.environ.get("AGENTDBG_REPLAY") or any(type(each).__name__ == "AgentdbgFinder" for each in sys.meta_path):
        return
    places = list(sys.path)
    try:
        from importlib.machinery import PathFinder

        given = [os.path.abspath(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        sys.path[:] = [place for place in places if os.path.abspath(place) not in given]
        root = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
        sys.meta_path.insert(0, AgentdbgFinder(root, PathFinder.find_spec))
        from agentdbg.replay import joined

        joined.begin()
    except BaseException as problem:
        os.write(2, f"agentdbg: this process cannot join the replay: {type(problem).__name__}: {problem}\n".encode())
        os._exit(3)
    sys.path[:] = places


def _give_way() -> None:
    """Take this directory off the search path and import the ``sitecustomize`` that comes next, as ``site`` would."""
    sys.path[:] = [place for place in sys.path if place != _HERE]
    sys.path_importer_cache.pop(_HERE, None)
    this = sys.modules.pop(__name__)
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # somebody else's

    del this


_begin()
if __name__ == "sitecustomize":
    _give_way()
