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

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, ERRNO, NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_SET_FILTER, _NEW_LISTENER = 1, 8
_NUMBER, _ARCH = 0, 4
_X32 = 0x40000000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_UNKNOWN = 470
"""The first system call that is not looked through: to the program, the kernel does not have it or its successors."""
_PLAIN_FAMILIES = (1, 2, 10)
"""Sockets that may be made, for nothing can be reached through them: unix, IPv4, IPv6."""
_NETLINK, _ROUTE = 16, 0
_THREAD, _STARTS_PROGRAM = 0x00010000, 0x00004100
"""``clone``: a thread; a process that shares memory until it executes, which is judged by name."""
_OWNER_COMMANDS = (8, 15)
"""``fcntl``: who gets the signals of a descriptor."""
DEVICE_COMMANDS = (
    *(0x5412, 0x541C, 0x541D, 0x5423, 0x540E, 0x5437),  # terminals: input for others, console, line, controlling
    *(0x8901, 0x8902),  # who gets the signals of a socket
    *(0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602),  # flags and version of a file
    *(0x40806685, 0x800C6613, 0xC0045877, 0xC0045878, 0xC0185879),  # verity, encryption, freezing, trimming
)
"""``ioctl``: what changes something through a descriptor that is open for reading; btrfs's are asked about too."""
_BTRFS = 0x9400
_FLAGS_AT = {"open": 1, "openat": 2}
_ADDRESS_AT = {"sendto": 4}
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
_ITSELF_AT = {
    **dict.fromkeys(("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "prlimit64"), (0,)),
    **dict.fromkeys(("migrate_pages", "move_pages"), (0,)),
    "setpriority": (0, 1),
}
"""Calls that change the process itself where these arguments are 0."""
_ABSENT = {"clone3": errno.ENOSYS, "io_uring_setup": errno.ENOSYS, "setsid": errno.EPERM, "setpgid": errno.EPERM}
"""``clone3`` has its flags in memory, what goes through an ``io_uring`` is no system call: event loops and libraries
try them first, and use ``clone`` and plain calls then. The others are what the kernel says to the leader of a session,
and keep what else there is within reach of the signal that ends a replay."""

_SESSION_CALLS = ("setsid", "setpgid")
Instruction = tuple[int, int, int, int]


def program(here: Machine, own_pid: int, otherwise: int, *, several: bool = False) -> list[Instruction]:
    """The filter's instructions.

    Args:
        here: The machine it is for.
        own_pid: The process that may send signals to itself.
        otherwise: What happens to a call that does not go through: ``NOTIFY`` or ``ERRNO | code``.
        several: There may be several processes.
    """
    code: list[Instruction] = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, here.audit), (_RETURN, 0, 0, ERRNO | errno.EPERM)]
    code.append((_LOAD, 0, 0, _NUMBER))
    if here.audit == 0xC000003E:
        code += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    code += [(_AT_LEAST, 0, 1, _UNKNOWN), (_RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    for name, number in here.numbers.items():
        asked = several and name in _SESSION_CALLS
        block = [(_RETURN, 0, 0, otherwise)] if asked else _judged(name, own_pid, otherwise)
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
        plain = [each for family in _PLAIN_FAMILIES for each in ((_EQUAL, 0, 1, family), allow)]
        return [_low(0), *plain, (_EQUAL, 0, 3, _NETLINK), _low(2), (_EQUAL, 0, 1, _ROUTE), allow, deny]
    if name in _ABSENT:
        return [(_RETURN, 0, 0, ERRNO | _ABSENT[name])]
    if name in _ITSELF_AT:
        own = [each for place in _ITSELF_AT[name] for each in (_low(place), (_EQUAL, 1, 0, 0), deny)]
        return [*own, allow]
    if name in ("ioctl", "fcntl", "clone"):
        return _by_command(name, deny, allow)
    if name in _SIGNALS:
        return [_low(0), (_EQUAL, 0, 1, own_pid), allow, deny]
    return [deny]


def _by_command(name: str, deny: Instruction, allow: Instruction) -> list[Instruction]:
    """Calls that are many: most of them do no harm."""
    if name == "clone":
        harmless = [(_ANY_BIT, 0, 1, _THREAD), allow, (_AND, 0, 0, _STARTS_PROGRAM), (_EQUAL, 0, 1, _STARTS_PROGRAM)]
        return [_low(0), *harmless, allow, deny]
    known = DEVICE_COMMANDS if name == "ioctl" else _OWNER_COMMANDS
    found = [_low(1), *(each for command in known for each in ((_EQUAL, 0, 1, command), deny))]
    return [*found, *([(_AND, 0, 0, 0xFF00), (_EQUAL, 0, 1, _BTRFS), deny] if name == "ioctl" else []), allow]


def _low(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _high(argument: int) -> Instruction:
    return (_LOAD, 0, 0, 20 + 8 * argument)


def install(*, listened: bool, alone: bool = True, several: bool = False) -> int | None:
    """Put the filter in force for this process and all that it starts, for good.

    Args:
        listened: A parent answers what is asked; else such calls fail with ``EPERM``.
        alone: Where nobody can be asked, the filter is put in force all the same.
        several: The process may start others, which have the filter too.

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
            return seccomp(_SET_FILTER, _NEW_LISTENER, packed(program(here, os.getpid(), NOTIFY, several=several)))
        except OSError as problem:
            if problem.errno != errno.EINVAL or not alone:
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
