"""Namespaces of a replay: no network, and a copy-on-write view of the directories that the agent wrote in.

Source of numbers: ``linux/sched.h``, ``linux/mount.h``; overlay options: the kernel's ``overlayfs.rst``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from agentdbg.replay.kernel.calls import KernelRefused, mount, unshare

_NEWNS, _NEWUSER, _NEWNET, _NEWIPC = 0x00020000, 0x10000000, 0x40000000, 0x08000000
_BIND, _REC, _PRIVATE = 4096, 16384, 1 << 18
SPECIAL = ("/", "/proc", "/sys", "/dev")
"""Folders that no view is laid over: the system's own."""


@dataclass(frozen=True, slots=True)
class View:
    """A directory that is seen copy-on-write.

    Attributes:
        folder: The directory, resolved.
        upper: Where what is written goes.
        work: A directory of the overlay's own, beside ``upper``.
    """

    folder: str
    upper: str
    work: str


def enter(*, network: bool = True) -> list[str]:
    """Leave the machine's network, and its mounts as far as changes go. Only while there is one thread.

    Args:
        network: Whether the network is left too.

    Returns:
        Names of the layers that hold: ``network namespace``, ``mount namespace``.

    Raises:
        KernelRefused: No namespaces are to be had.
    """
    uid, gid = os.geteuid(), os.getegid()
    flags = _NEWNS | _NEWIPC | (_NEWNET if network else 0)
    try:
        if uid == 0:
            try:
                unshare(flags)
            except PermissionError:
                _as_user(uid, gid, flags)
        else:
            _as_user(uid, gid, flags)
        mount("", "/", "", _REC | _PRIVATE, "")
    except OSError as problem:
        raise KernelRefused(f"namespaces: {problem.strerror}") from problem
    return [*(["network namespace"] if network else []), "mount namespace"]


def _as_user(uid: int, gid: int, flags: int) -> None:
    """In a user namespace of its own, in which this user's ids stay what they are."""
    unshare(_NEWUSER | flags)
    for path, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{path}", "w", encoding="ascii") as file:
            file.write(text)


def cover(views: Sequence[View], scratch: str) -> list[View]:
    """Lay copy-on-write views over directories; the replay's own scratch directory stays as it is.

    Args:
        views: Outer directories first.
        scratch: Seen through every view.

    Returns:
        The views that could be laid.
    """
    laid: list[View] = []
    kept = os.open(scratch, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for view in views:
            if view.folder in SPECIAL or not os.path.isdir(view.folder) or not _cover(view):
                continue
            laid.append(view)
            if _is_within(scratch, view.folder):
                mount(f"/proc/self/fd/{kept}", scratch, "", _BIND | _REC, "")
    finally:
        os.close(kept)
    return laid


def _cover(view: View) -> bool:
    for extra in (",userxattr", ""):
        places = f"lowerdir={_quoted(view.folder)},upperdir={_quoted(view.upper)},workdir={_quoted(view.work)}"
        try:
            mount("overlay", view.folder, "overlay", 0, places + extra)
        except OSError:
            continue
        return True
    return False


def _quoted(path: str) -> str:
    """A path as an option of the overlay: its separators are colon and comma."""
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
