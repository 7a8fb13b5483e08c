"""Privileges that a replay gives up: all but those over files, which Landlock and the views hold.

Source of numbers: ``linux/capability.h``.
"""

from __future__ import annotations

import ctypes
import os
import struct

from agentdbg.replay.kernel.calls import CAPSET, syscall

_VERSION = 0x20080522
_KEPT = (0, 1, 2, 3, 4, 6, 7, 10, 14)
"""Owner, permissions, ids of files and of itself, low ports (of a network of its own), memory that stays."""


def give_up() -> None:
    """Give up everything else for good: clock, network, devices, other processes. Only while there is one thread.

    Raises:
        OSError: The kernel refuses.
    """
    kept = sum(1 << number for number in _KEPT) & _permitted()
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = ctypes.create_string_buffer(struct.pack("=Ii", _VERSION, 0), 8)
    data = ctypes.create_string_buffer(struct.pack("=6I", low, low, 0, high, high, 0), 24)
    syscall(CAPSET[os.uname().machine], header, data)


def _permitted() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1], 16) for line in file if line.startswith("CapPrm:")), 0)
