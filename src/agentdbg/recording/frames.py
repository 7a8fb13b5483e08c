"""The stack of an effect: who is to be named for it. Light, since it is loaded before the program that is recorded."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from types import FrameType

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_DEMO = os.path.join(PACKAGE, "demo") + os.sep
_OWN = tuple(PACKAGE + name.replace("/", os.sep) for name in (
    "store/", "redaction/", "config/", "model/", "recording/launch/", "recording/environment.py",
    "recording/git_state.py", "recording/process.py", "recording/run.py", "recording/entry_point.py",
    "recording/launched.py", "recording/host.py", "recording/program_run.py",
))  # fmt: skip
_SELF = tuple(
    f"{PACKAGE}recording{os.sep}{name}.py"
    for name in ("coverage", "effect_events", "captured_files", "file_weight", "frames")
)

_WRAPPERS = frozenset((f"{PACKAGE}recording{os.sep}children.py",))
"""What stands around functions of the standard library for whoever calls them, the recorder too."""


class OwnFiles(dict[str, bool]):
    """Whether what a file's own code does outside is the recorder's doing, by file name; asked from the audit hook."""

    def __missing__(self, filename: str) -> bool:
        found = self[filename] = filename.startswith(_OWN)
        return found


def outer_frame() -> FrameType | None:
    """The innermost frame that is not this package's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def user_frame() -> str:
    """The innermost frame of the user's code as ``file:line function``.

    Without one (a worker thread that runs library code only) the innermost frame of a library, else of the standard
    library.
    """
    best: tuple[int, FrameType] | None = None
    frame = outer_frame()
    while frame is not None:
        rank = rank_of(frame.f_code.co_filename)
        if best is None or rank < best[0]:
            best = (rank, frame)
        if rank == 0:
            break
        frame = frame.f_back
    if best is None:
        return ""
    return place_of(best[1])


def place_of(frame: FrameType) -> str:
    """A frame as ``file:line function``."""
    return f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"


def rank_of(filename: str) -> int:
    """How far from the user's code a file is: 0 theirs, 1 a library, 2 the standard library, 3 this package."""
    if filename.startswith(PACKAGE) and not filename.startswith(_DEMO):
        return 3
    if any(site in filename for site in _SITE):
        return 1
    return 2 if filename.startswith((_STDLIB, "<frozen ")) else 0


def witness() -> FrameType | None:
    """The frame to name: the innermost of the user's code, else of a library. ``None`` where the recorder itself acts.

    The recorder acts where the first code beyond the standard library, and what is wrapped around that, is its own, and
    none that calls the user's.
    """
    best: tuple[int, FrameType] | None = None
    undecided = True
    frame: FrameType | None = innermost()
    outermost = frame
    while frame is not None:
        filename = frame.f_code.co_filename
        rank = rank_of(filename)
        if rank == 3 and undecided and filename.startswith(_OWN):
            return None
        undecided = undecided and (rank == 2 or filename in _WRAPPERS)
        if best is None or rank < best[0]:
            best = (rank, frame)
        if rank == 0:
            break
        frame = frame.f_back
    return best[1] if best is not None else outermost


def innermost() -> FrameType:
    """The frame that raised the event."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename in _SELF:
        frame = frame.f_back
    return frame


def asked_by(module: str) -> bool:
    """Whether that module of the standard library is among the callers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == module:
            return True
        frame = frame.f_back
    return False
