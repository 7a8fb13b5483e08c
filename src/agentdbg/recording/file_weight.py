"""How much a file that is written matters: not at all, little when it is temporary, else as any. Light."""

from __future__ import annotations

import os

from agentdbg.recording.frames import innermost

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence

_TEMPFILE = f"{os.sep}tempfile.py"
_MOST = 1000


def is_dull(path: str, store: str) -> bool:
    """Whether a resolved path is no effect: a device, byte code, or the record itself, which is in ``store``."""
    if path.startswith("/dev/") and not path.startswith("/dev/shm/"):
        return True
    if path.startswith("/proc/") and "/fd/" in path:  # a standard stream by its name
        return True
    folder, name = os.path.split(path)
    if name == "__pycache__" or name.endswith(".pyc") or (".pyc." in name and folder.endswith("__pycache__")):
        return True
    return store != "" and path.startswith(store + os.sep)


class TemporaryFiles:
    """What the standard library made in the directory for temporary files."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def weight(self, paths: Sequence[str]) -> str:
        """``temporary`` for these, and all below them; else empty. To be asked from the audit hook."""
        if all(any(path == known or path.startswith(known + os.sep) for known in self._known) for path in paths):
            return "temporary"
        if not innermost().f_code.co_filename.endswith(_TEMPFILE):
            return ""
        places = [place for name in ("TMPDIR", "TEMP", "TMP") if (place := os.environ.get(name))]
        roots = [os.path.realpath(place) for place in places or ("/tmp", "/var/tmp", "/usr/tmp")]
        if not all(f"{path}{os.sep}".startswith(tuple(root + os.sep for root in roots)) for path in paths):
            return ""
        if len(self._known) < _MOST:
            self._known.update(path for path in paths if path not in roots)
        return "temporary"
