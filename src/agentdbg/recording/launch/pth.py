"""``agentdbg-bootstrap.pth``: the bootstrap for a Python that ignores its environment (``-I``, ``-E``)."""

from __future__ import annotations

import os
from contextlib import suppress

from agentdbg.recording.launch.environment import BOOTSTRAP

NAME = "agentdbg-bootstrap.pth"


def line() -> str:
    """The file's one line. It does nothing unless a launch is under way, and nothing when agentdbg has gone."""
    file = os.path.join(BOOTSTRAP, "sitecustomize.py")
    names = '{"__name__": "agentdbg_bootstrap", "__file__": p}'
    run = f"exec(compile(open(p, encoding='utf-8').read(), p, 'exec'), {names})"
    # The variable only switches it on: what is executed was fixed when the file was installed.
    return f"import os; p = {file!r}; os.environ.get('AGENTDBG_LAUNCH') and os.path.exists(p) and {run}\n"


def install(packages: str) -> bool:
    """Install it into a ``site-packages``; ``False`` when it was there as it is now.

    Raises:
        OSError: It cannot be written.
    """
    path = os.path.join(packages, NAME)
    with suppress(OSError), open(path, encoding="utf-8") as file:
        if file.read() == line():
            return False
    draft = f"{path}.{os.getpid()}.new"  # not read by Python, as its name ends in something else
    try:
        with open(draft, "x", encoding="utf-8") as file:
            file.write(line())
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise
    return True
