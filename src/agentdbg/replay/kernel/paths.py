"""Where a path of another process leads: as the kernel walks it there, links and ``..`` included."""

from __future__ import annotations

import errno
import os

AT_CWD = -100
OPEN_ALREADY = "open "
"""In front of what a process reaches by the number of its own descriptor and has no path: ``pipe:[…]``."""
_MOST_LINKS = 40
_NO_LINK = (errno.EINVAL, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENAMETOOLONG)


def resolved(pid: int, folder: int, path: str, *, follow: bool) -> str:
    """The place that a system call acts on.

    Args:
        pid: The process, or one of its threads.
        folder: Descriptor that a relative path starts from; ``AT_CWD`` is the working directory.
        path: As it was given.
        follow: Whether a link in the last place is followed too.

    Returns:
        An absolute path, or ``OPEN_ALREADY`` and what the kernel calls something without one.

    Raises:
        OSError: The process is gone, or its links run in circles.
    """
    if not os.path.isabs(path):
        base = os.readlink(f"/proc/{pid}/cwd" if folder == AT_CWD else f"/proc/{pid}/fd/{folder}")
        path = os.path.join(base, path)
    return _walk(pid, path, follow=follow)


def descriptor(pid: int, fd: int) -> str:
    """What a process's descriptor stands for. Raises OSError."""
    return os.readlink(f"/proc/{pid}/fd/{fd}")


def process_of(pid: int) -> int:
    """The process that a thread belongs to. Raises OSError."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("Tgid:")), pid)


def _walk(pid: int, path: str, *, follow: bool) -> str:
    os.stat(f"/proc/{pid}/root/")  # what cannot be looked at is not judged
    links, own = 0, ""
    follow = follow or path.endswith(("/", "/."))
    rest, at = _parts(path), list[str]()
    while rest:
        part = rest.pop()
        if part == "..":
            at[-1:] = []
            continue
        at.append(part)
        if at == ["proc"] or at[0] != "proc":
            target = _link(pid, at) if rest or follow else None
        else:
            own = own or str(process_of(pid))
            target = _process_link(pid, own, at) if rest or follow or len(at) == 2 else None
        if target is None:
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if at[0] == "proc" and at[-2:-1] == ["fd"] and not target.startswith("/"):
            return OPEN_ALREADY + target
        at = [] if target.startswith("/") else at[:-1]
        rest += _parts(target)
    if own and at[:2] == ["proc", own]:
        at[1] = "self"
    return "/" + "/".join(at)


def _parts(path: str) -> list[str]:
    """The parts of a path, the last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _process_link(pid: int, own: str, at: list[str]) -> str | None:
    """A link below ``/proc``: those of other processes are not followed, the kernel does not let it in there."""
    if len(at) == 2 and at[1] in ("self", "thread-self"):
        return own  # a thread's directory is as good as its process's
    return None if at[1].isdigit() and at[1] != own else _link(pid, at)


def _link(pid: int, at: list[str]) -> str | None:
    """What the link at a place of the process's own file system holds; ``None`` when it is no link."""
    try:
        return os.readlink(f"/proc/{pid}/root/" + "/".join(at))
    except OSError as problem:
        if problem.errno in _NO_LINK:
            return None
        raise
