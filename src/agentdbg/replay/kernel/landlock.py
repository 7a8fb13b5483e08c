"""Landlock: this process and its children may write only below given places, and reach no TCP port.

Source of numbers: ``linux/landlock.h``, ABI 1 to 7.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from agentdbg.replay.kernel.calls import (
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    no_new_privileges,
    syscall,
)

_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_CHANGES = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))
_REFER, _DEVICES = 1 << 13, 1 << 15
_TCP = 0b11
_SCOPED = 0b01
"""No abstract sockets of processes outside. Signals are the filter's: it tells a question from a signal."""


def version() -> int:
    """The kernel's Landlock ABI; 0 when it has none."""
    try:
        return syscall(LANDLOCK_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def restrict(writable: Iterable[str], *, network: bool = True) -> int:
    """Restrict this process for good.

    Args:
        writable: Directories and files that stay writable; what is not there is passed over.
        network: Whether TCP ports are out of reach too.

    Returns:
        The ABI that is in force.

    Raises:
        OSError: The kernel has no Landlock, or it is switched off.
    """
    abi = version()
    changes = _CHANGES | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0) | (_DEVICES if abi >= 5 else 0)
    members = [changes, *([_TCP if network else 0] if abi >= 4 else []), *([_SCOPED] if abi >= 6 else [])]
    ruleset = _ruleset(members)
    try:
        for place in writable:
            _allow(ruleset, place, changes)
        no_new_privileges()
        syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def _ruleset(members: list[int]) -> int:
    packed = struct.pack(f"={len(members)}Q", *members)
    return syscall(LANDLOCK_CREATE_RULESET, ctypes.create_string_buffer(packed, len(packed)), len(packed), 0)


def _allow(ruleset: int, place: str, changes: int) -> None:
    try:
        fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        folder = stat.S_ISDIR(os.fstat(fd).st_mode)
        allowed = changes if folder else changes & (_WRITE_FILE | _TRUNCATE | _DEVICES)
        packed = struct.pack("=Qi", allowed, fd)
        syscall(LANDLOCK_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.create_string_buffer(packed, len(packed)), 0)
    finally:
        os.close(fd)
