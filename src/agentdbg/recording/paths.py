"""Paths without the machine: ``{root}/…``, ``{venv}/…``, ``{home}/…``."""

from __future__ import annotations

import os
import sys


def neutral_path(path: str | os.PathLike[str], *, root: str | None, venv: str | None, home: str | None) -> str:
    """Write a path relative to the most specific place that holds it, with ``/`` as separator.

    Args:
        path: An absolute path; another one, or one outside all places, comes back with its own beginning.
        root: The project's root.
        venv: The virtual environment, ``None`` outside of one.
        home: The user's home directory.
    """
    text = printable(os.fspath(path))
    best: tuple[int, str, str] | None = None
    for name, place in (("root", root), ("venv", venv), ("home", home)):
        prefix = printable(place or "").rstrip("/" + os.sep)
        if not prefix or not _starts(text, prefix):
            continue
        if best is None or len(prefix) > best[0]:
            best = (len(prefix), name, text[len(prefix) :])
    if best is None:
        return text.replace(os.sep, "/")
    return "{" + best[1] + "}" + best[2].replace(os.sep, "/")


def _starts(text: str, prefix: str) -> bool:
    head, rest = text[: len(prefix)], text[len(prefix) :]
    return os.path.normcase(head) == os.path.normcase(prefix) and (not rest or rest[0] in ("/", os.sep))


def printable(text: str) -> str:
    """Text of the system as Unicode: undecodable bytes become ``\\xNN``."""
    try:
        return os.fsencode(text).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a lone surrogate that does not stand for a byte
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def virtual_environment() -> str | None:
    """The virtual environment that this process runs in, if it runs in one."""
    return sys.prefix if sys.prefix != sys.base_prefix else None


def project_root(cwd: str) -> str | None:
    """The nearest directory at or above ``cwd`` that has a ``.git`` of its own; nothing is read or run."""
    folder = os.path.abspath(cwd)
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
