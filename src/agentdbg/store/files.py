"""Safe file access: regular files only, no link followed, private modes whatever the umask.

A store is hostile input (a colleague hands one over). Every path below a store is walked component by component
without following links, and only regular files are opened, so that nothing outside the store is ever touched.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | _CLOEXEC | _BINARY
_WALK = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOEXEC
_HAS_DIR_FD = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd

MAX_NAME = 255
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

EntryKind = Literal["file", "directory", "link", "other", "missing"]


class StoreError(ValueError):
    """A store, run or file that cannot be used; the message is one clear line."""


def is_run_id(name: str) -> bool:
    """Whether ``name`` may be the id of a run."""
    return _RUN_ID.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Return ``name`` when it may name an entry of a store's directory.

    Raises:
        StoreError: It is empty, ``.`` or ``..``, too long, or holds a separator or a control character.
    """
    if name in ("", ".", ".."):
        raise StoreError(f"{name!r} is not a file name")
    if len(name) > MAX_NAME:
        raise StoreError(f"{name[:40]!r}… is too long for a file name")
    if "/" in name or "\\" in name or any(ord(char) < 32 or ord(char) == 127 for char in name):
        raise StoreError(f"{name!r} holds a separator or a control character")
    return name


def open_regular(path: str | os.PathLike[str], *, dir_fd: int | None = None) -> int:
    """Open a regular file for reading; the caller closes the descriptor.

    Raises:
        StoreError: It is a symbolic link, a FIFO, a device, a socket or a directory.
        OSError: It is missing or may not be read.
    """
    where = {"dir_fd": dir_fd} if dir_fd is not None else {}
    _require_regular(os.lstat(path) if dir_fd is None else os.stat(path, follow_symlinks=False, **where), path)
    fd = os.open(path, _READ, **where)
    try:
        _require_regular(os.fstat(fd), path)
    except StoreError:
        os.close(fd)
        raise
    return fd


def open_below(root: str | os.PathLike[str], *names: str) -> int:
    """Open the regular file ``root/names[0]/names[1]/…``; no component below ``root`` may be a link.

    Raises:
        StoreError: A name is refused, a component is a link, or the file is no regular file.
        OSError: It is missing or may not be read.
    """
    for name in names:
        check_name(name)
    if not _HAS_DIR_FD:
        return open_regular(_walk_paths(Path(root), names[:-1]) / names[-1])
    with _directory(root, names[:-1]) as fd:
        return open_regular(names[-1], dir_fd=fd)


def stat_below(root: str | os.PathLike[str], *names: str) -> os.stat_result:
    """``lstat`` of ``root/names…``, no link followed on the way.

    Raises:
        StoreError: A name is refused or a component is a link.
        OSError: It is missing or may not be read.
    """
    for name in names:
        check_name(name)
    if not _HAS_DIR_FD:
        return os.lstat(_walk_paths(Path(root), names[:-1]) / names[-1])
    with _directory(root, names[:-1]) as fd:
        return os.stat(names[-1], dir_fd=fd, follow_symlinks=False)


def list_below(root: str | os.PathLike[str], *names: str) -> list[tuple[str, EntryKind]]:
    """Names and kinds of the entries of the directory ``root/names…``, sorted; empty when there is no such directory.

    Raises:
        StoreError: A component is a link.
        OSError: It may not be read.
    """
    for name in names:
        check_name(name)
    try:
        if not _HAS_DIR_FD or os.scandir not in os.supports_fd:
            return _entries(_walk_paths(Path(root), names))
        with _directory(root, names) as fd:
            return _entries(fd)
    except FileNotFoundError:
        return []


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Up to ``size`` bytes from ``offset``; fewer at the end of the file only."""
    parts: list[bytes] = []
    while size > 0:
        part = os.pread(fd, size, offset) if hasattr(os, "pread") else _seek_and_read(fd, size, offset)
        if not part:
            break
        parts.append(part)
        size -= len(part)
        offset += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_bounded(fd: int, limit: int) -> bytes:
    """The whole file, as long as it was when it was looked at.

    Raises:
        StoreError: It is larger than ``limit``.
    """
    size = os.fstat(fd).st_size
    if size <= limit:
        return read_at(fd, size, 0)
    raise StoreError(f"larger than {limit:,} bytes")


def read_below(root: str | os.PathLike[str], *names: str, limit: int) -> bytes:
    """Content of the regular file ``root/names…``.

    Raises:
        StoreError: It is refused, or larger than ``limit``.
        OSError: It is missing or may not be read.
    """
    fd = open_below(root, *names)
    try:
        return read_bounded(fd, limit)
    except StoreError as problem:
        raise StoreError(f"{'/'.join(names)} is {problem}") from None
    finally:
        os.close(fd)


def make_private_dir(path: str | os.PathLike[str], *, group: bool = False) -> None:
    """Make sure that a directory is there.

    One that is created here, parents included, gets mode 0700 (0750 with ``group``).

    Raises:
        StoreError: Something that is no directory has the name.
        OSError: It cannot be created.
    """
    mode = 0o750 if group else 0o700
    try:
        os.mkdir(path, mode)
    except FileNotFoundError:
        make_private_dir(Path(path).parent, group=group)
        make_private_dir(path, group=group)
        return
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise StoreError(f"{os.fspath(path)} exists and is not a directory") from None
        return
    os.chmod(path, mode)


def create_private_file(path: str | os.PathLike[str], *, group: bool = False, append: bool = False) -> int:
    """Create a file of mode 0600 (0640 with ``group``) and open it for writing; with ``append`` it may exist already.

    Raises:
        FileExistsError: It exists and ``append`` was not asked for.
        StoreError: It exists and is no regular file.
        OSError: It cannot be created.
    """
    mode = 0o640 if group else 0o600
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NOFOLLOW | _CLOEXEC | _BINARY | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(path, flags | os.O_EXCL, mode)
    except FileExistsError:
        if not append:
            raise
        _require_regular(os.lstat(path), path)
        fd = os.open(path, flags & ~os.O_CREAT)
    else:
        if hasattr(os, "fchmod"):
            os.fchmod(fd, mode)
    return fd


def looseness(status: os.stat_result) -> str:
    """What is wrong with the mode of a store's file or directory, or ``""``.

    Reading for the group is the most that is allowed.
    """
    mode = stat.S_IMODE(status.st_mode)
    allowed = 0o750 if stat.S_ISDIR(status.st_mode) else 0o640
    if os.name == "nt" or not mode & 0o077 & ~allowed:
        return ""
    return f"mode {mode:04o} is looser than {allowed & 0o700:04o}: others on this machine can get at it"


def _require_regular(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFREG:
        return
    names = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFDIR: "a directory",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    raise StoreError(f"{os.fspath(path)} is {names.get(kind, 'no regular file')}; only regular files are read")


@contextmanager
def _directory(root: str | os.PathLike[str], names: tuple[str, ...]) -> Iterator[int]:
    fd = os.open(root, _WALK)
    try:
        for name in names:
            try:
                inner = os.open(name, _WALK | _NOFOLLOW, dir_fd=fd)
            except OSError as problem:
                if isinstance(problem, FileNotFoundError | PermissionError):
                    raise
                raise StoreError(f"{name} in {os.fspath(root)} is a link or no directory; it is not followed") from None
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _walk_paths(path: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        path = path / name
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise StoreError(f"{name} in {path.parent} is a link or no directory; it is not followed")
    return path


def _entries(where: int | Path) -> list[tuple[str, EntryKind]]:
    found: list[tuple[str, EntryKind]] = []
    with os.scandir(where) as entries:
        for entry in entries:
            if entry.is_symlink():
                found.append((entry.name, "link"))
            elif entry.is_dir(follow_symlinks=False):
                found.append((entry.name, "directory"))
            else:
                found.append((entry.name, "file" if entry.is_file(follow_symlinks=False) else "other"))
    return sorted(found)


def _seek_and_read(fd: int, size: int, offset: int) -> bytes:
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)
