"""An error that a replayed program ended with, as its author would see it: without the frames that started it."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import traceback
from types import TracebackType

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LOADERS = ("<frozen importlib", "<frozen runpy>")
_COMPILERS = frozenset((ast.__file__, importlib.__file__))


def show(error: BaseException) -> None:
    """Print its traceback as the interpreter would have."""
    shown = error.with_traceback(_of_the_program(error.__traceback__))
    sys.excepthook(type(shown), shown, shown.__traceback__)


def in_one_line(error: BaseException) -> str:
    """Class, message, and of an error in the source its place."""
    said = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{said} ({os.path.basename(error.filename)}, line {error.lineno})"
    return said


def _of_the_program(found: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on; nothing where it has none, as of code that cannot be read."""
    at = found
    while at is not None and _is_ours(at.tb_frame.f_code.co_filename):
        at = at.tb_next
    return at


def _is_ours(file: str) -> bool:
    return file.startswith((_OURS, *_LOADERS)) or file in _COMPILERS
