"""Makes a Python that ``agentdbg record`` started ready to record; nothing in any other.

The only file in a directory that the launcher puts first on PYTHONPATH, where ``site`` imports it; an installed
``agentdbg-bootstrap.pth`` executes it under another name. Every Python that the program starts runs this file, so its
syntax is that of Python 2.7. It never raises anything of its own into the program and never writes to its streams:
what goes wrong is a line for the launcher.
"""
# ruff: noqa: UP004, UP030, UP032  # they ask for newer syntax
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-incomplete-defs=False

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_OLDEST = (3, 11)


class AgentdbgFinder(object):
    """Finds ``agentdbg`` where the launcher has it, and nothing else."""

    def __init__(self, root, find):
        self._path = [root]
        self._find = find

    def find_spec(self, name, path=None, target=None):
        """The spec of the package itself; its modules are found through its ``__path__``."""
        return self._find(name, self._path) if name == "agentdbg" else None


def _begin():
    """Start recording in this process, once, and tell the launcher how that went."""
    if not os.environ.get("AGENTDBG_LAUNCH") or any(type(each).__name__ == "AgentdbgFinder" for each in sys.meta_path):
        return
    version = "{0}.{1}.{2}".format(*sys.version_info[:3])
    try:
        if sys.version_info < _OLDEST:
            wanted = ".".join(str(part) for part in _OLDEST)
            _tell("failed", "Python {0} is older than {1}, which recording needs".format(version, wanted))
        elif _namesake():
            _tell("failed", "the program has a module agentdbg of its own: {0}".format(_namesake()))
        elif _activate():
            _tell("started", version)
    except Exception as error:
        _tell("failed", "Python {0}: {1}: {2}".format(version, type(error).__name__, error))


def _namesake():
    """A module of the program's own that has our name, and that it would no longer find; empty when there is none."""
    argv = getattr(sys, "argv", None) or [""]
    first = os.getcwd() if argv[0] in ("", "-c", "-m") else os.path.dirname(os.path.realpath(argv[0]))
    for place in [] if sys.flags.safe_path else [first]:
        for name in ("agentdbg.py", os.path.join("agentdbg", "__init__.py")):
            path = os.path.join(place, name)
            if os.path.isfile(path) and not os.path.isdir(os.path.join(os.path.dirname(path), "recording")):
                return path
    return ""


def _activate():
    from _frozen_importlib_external import PathFinder  # importlib.machinery is the same, but takes longer

    root = _HERE
    for _ in range(4):
        root = os.path.dirname(root)
    finder = AgentdbgFinder(root, PathFinder.find_spec)
    sys.meta_path.insert(0, finder)
    try:
        from agentdbg.recording.launch import start

        return start.begin()
    except Exception:
        sys.meta_path.remove(finder)
        raise


def _tell(event, text):
    """Add a line to the launcher's journal; a launcher that is gone needs none."""
    key = "python" if event == "started" else "reason"
    text = str(text)[:2000].replace('"', "'")
    text = "".join(char if " " <= char <= "~" and char != "\\" else "?" for char in text)
    line = '{{"event": "{0}", "pid": {1}, "{2}": "{3}"}}\n'.format(event, os.getpid(), key, text)
    try:
        place = os.path.join(os.environ["AGENTDBG_LAUNCH"], "events.jsonl")
        journal = os.open(place, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(journal, line.encode("ascii"))
        finally:
            os.close(journal)
    except Exception:
        return


def _give_way():
    """Take this directory off the search path and import the ``sitecustomize`` that comes next, as ``site`` would.

    Where there is none, the ImportError says so to ``site``, which knows it from everybody who has none.
    """
    sys.path[:] = [place for place in sys.path if place != _HERE]
    sys.path_importer_cache.pop(_HERE, None)
    this = sys.modules.pop(__name__)
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # somebody else's

    del this  # kept till here: Python 2 empties a module that nobody holds


_begin()
if __name__ == "sitecustomize":
    _give_way()
