"""Private directories for what a replay needs while it runs. What a killed process has left is removed by the next."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentdbg.config.paths import cache_dir

_LOCK: Final = ".lock"
_PREFIXES: Final = ("replay-", "code-")
"""Beginnings of the names of everything that is kept there."""


def scratch_dir() -> Path:
    """Where they are made."""
    base = cache_dir() / "replays"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    return base


class ScratchDirectory:
    """A directory of this process's, gone afterwards."""

    def __init__(self, prefix: str) -> None:
        """Prepare; ``prefix`` is one of those that are looked for."""
        self._prefix = prefix
        self._lock = -1

    def __enter__(self) -> Path:
        base = scratch_dir()
        sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=self._prefix, dir=base)).resolve()
        self._lock, new = tempfile.mkstemp(prefix=".new-", dir=base)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(new, f"{self.path}{_LOCK}")  # locked before anybody finds it
        return self.path

    def __exit__(self, *_: object) -> None:
        remove(self.path)
        with suppress(OSError):
            os.unlink(f"{self.path}{_LOCK}")
        os.close(self._lock)


class Scratch(ScratchDirectory):
    """The directory of one replay."""

    def __init__(self) -> None:
        """Prepare."""
        super().__init__("replay-")

    def __enter__(self) -> Path:
        place = super().__enter__()
        for name in ("cassette", "store", "tmp", "cwd"):
            (place / name).mkdir(mode=0o700)
        return place


def sweep(base: Path) -> None:
    """Remove what is left of processes that were killed: nobody holds its lock."""
    for lock in base.glob(f"*{_LOCK}"):
        if not lock.name.startswith(_PREFIXES):
            continue
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(lock.with_name(lock.name.removesuffix(_LOCK)))
            lock.unlink(missing_ok=True)
        except OSError:
            pass  # it is in use
        finally:
            os.close(descriptor)


def remove(place: Path) -> None:
    """Remove a directory with everything in it, overlays' own directories too."""
    if place.is_symlink():
        return
    for view in place.glob("views/*-work"):
        for each in (view, view / "work"):  # the overlay's own, closed to everybody
            if each.is_dir() and not any(part.is_symlink() for part in (view.parent, view, each)):
                _open(each)
    shutil.rmtree(place, ignore_errors=True)


def _open(place: Path) -> None:
    """Let a directory be removed."""
    try:
        place.chmod(0o700)
    except PermissionError:  # an engine's daemon made it; it is empty, and in a directory of ours
        with suppress(OSError):
            place.rmdir()
    except OSError:
        pass  # gone
