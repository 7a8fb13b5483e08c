"""The seccomp filter of a replay: which system calls go through, and which are asked about or refused.

A call that is asked about waits until the parent has looked at it (``supervisor.py``). Source of numbers:
``linux/seccomp.h``, ``linux/filter.h``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from agentdbg.replay.kernel.calls import Machine, machine, no_new_privileges, seccomp

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERRNO, NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_SET_FILTER, _NEW_LISTENER = 1, 8
_NUMBER, _ARCH = 0, 4
_X32 = 0x40000000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PLAIN_FAMILIES = (1, 2, 10, 16)
"""Sockets that may be made, for nothing can be reached through them: unix, IPv4, IPv6, netlink."""
_FLAGS_AT = {"open": 1, "openat": 2}
_ADDRESS_AT = {"sendto": 4}
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")

Instruction = tuple[int, int, int, int]


def program(here: Machine, own_pid: int, otherwise: int) -> list[Instruction]:
    """The filter's instructions.

    Args:
        here: The machine it is for.
        own_pid: The process that may send signals to itself.
        otherwise: What happens to a call that does not go through: ``NOTIFY`` or ``ERRNO | code``.
    """
    code: list[Instruction] = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, here.audit), (_RETURN, 0, 0, ERRNO | errno.EPERM)]
    code.append((_LOAD, 0, 0, _NUMBER))
    if here.audit == 0xC000003E:
        code += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    for name, number in here.numbers.items():
        block = _judged(name, own_pid, otherwise)
        code += [(_EQUAL, 0, len(block), number), *block]
    return [*code, (_RETURN, 0, 0, ALLOW)]


def _judged(name: str, own_pid: int, otherwise: int) -> list[Instruction]:
    """What happens to one call, its number having been recognised. Always ends the filter."""
    deny, allow = (_RETURN, 0, 0, otherwise), (_RETURN, 0, 0, ALLOW)
    if name in _FLAGS_AT:
        return [_low(_FLAGS_AT[name]), (_ANY_BIT, 0, 1, _WRITES), deny, allow]
    if name in _ADDRESS_AT:
        place = _ADDRESS_AT[name]
        return [_low(place), (_EQUAL, 0, 2, 0), _high(place), (_EQUAL, 1, 0, 0), deny, allow]
    if name == "socket":
        known = [(_EQUAL, len(_PLAIN_FAMILIES) - i, 0, family) for i, family in enumerate(_PLAIN_FAMILIES)]
        return [_low(0), *known, (_RETURN, 0, 0, ERRNO | errno.EPERM), allow]
    if name in _SIGNALS:
        return [_low(0), (_EQUAL, 0, 1, own_pid), allow, deny]
    return [deny]


def _low(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _high(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 20 + 8 * argument)


def install(*, listened: bool) -> int | None:
    """Put the filter in force for this process and all that it starts, for good.

    Args:
        listened: A parent answers what is asked; else such calls fail with ``EPERM``.

    Returns:
        The descriptor that the parent listens on, or ``None`` where the kernel has no such thing.

    Raises:
        OSError: The kernel refuses the filter.
        KernelRefused: There is no filter for this machine.
    """
    here = machine()
    no_new_privileges()
    if listened:
        try:
            return seccomp(_SET_FILTER, _NEW_LISTENER, packed(program(here, os.getpid(), NOTIFY)))
        except OSError as problem:
            if problem.errno != errno.EINVAL:
                raise
    seccomp(_SET_FILTER, 0, packed(program(here, os.getpid(), ERRNO | errno.EPERM)))
    return None


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


_kept: list[object] = []


def packed(code: list[Instruction]) -> object:
    """A filter as the kernel takes it."""
    packed = b"".join(struct.pack("=HBBI", *each) for each in code)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    made = _Program(len(code), ctypes.cast(buffer, ctypes.c_void_p))
    _kept.append((buffer, made))  # the kernel reads them during the call
    return ctypes.byref(made)
