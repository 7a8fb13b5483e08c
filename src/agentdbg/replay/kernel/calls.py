"""System calls that the standard library has no function for, made through ``ctypes`` on the two machines we know."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from dataclasses import dataclass
from functools import cache

PR_SET_NO_NEW_PRIVS = 38


class KernelRefused(Exception):
    """The kernel does not do this here; the message says what and why."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor architecture.

    Attributes:
        audit: How seccomp names it.
        numbers: System call numbers by name; a call that the machine does not have is left out.
    """

    audit: int
    numbers: dict[str, int]


# fmt: off
_X86_64 = {
    "open": 2, "creat": 85, "connect": 42, "sendto": 44, "sendmsg": 46, "sendmmsg": 307, "socket": 41, "execve": 59,
    "execveat": 322, "openat": 257, "openat2": 437, "rename": 82, "renameat": 264, "renameat2": 316, "mkdir": 83,
    "mkdirat": 258, "rmdir": 84, "unlink": 87, "unlinkat": 263, "link": 86, "linkat": 265, "symlink": 88,
    "symlinkat": 266, "truncate": 76, "chmod": 90, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "lchown": 94,
    "fchownat": 260, "utime": 132, "utimes": 235, "utimensat": 280, "futimesat": 261, "mknod": 133, "mknodat": 259,
    "setxattr": 188, "lsetxattr": 189, "removexattr": 197, "lremovexattr": 198, "kill": 62, "tkill": 200,
    "tgkill": 234, "pidfd_send_signal": 424, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "ptrace": 101,
    "process_vm_writev": 311, "io_uring_setup": 425, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "setns": 308, "unshare": 272, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250,
    "add_key": 248, "request_key": 249, "init_module": 175, "finit_module": 313, "delete_module": 176,
    "kexec_load": 246, "reboot": 169, "swapon": 167, "swapoff": 168, "sethostname": 170, "setdomainname": 171,
    "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "quotactl": 179, "acct": 163,
    "open_by_handle_at": 304, "fsopen": 430, "fsmount": 432, "move_mount": 429, "open_tree": 428, "mount_setattr": 442,
    "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240, "pidfd_getfd": 438, "process_madvise": 440,
    "fchmod": 91, "fchown": 93, "fsetxattr": 190, "fremovexattr": 199, "setxattrat": 463, "removexattrat": 466,
    "file_setattr": 469, "ioctl": 16, "fcntl": 72, "bind": 49, "fork": 57, "clone": 56, "clone3": 435, "setsid": 112,
    "setpgid": 109, "setpriority": 141, "prlimit64": 302, "sched_setaffinity": 203, "sched_setscheduler": 144,
    "sched_setparam": 142, "sched_setattr": 314, "ioprio_set": 251, "migrate_pages": 256, "move_pages": 279,
    "process_mrelease": 448, "shmat": 30, "shmctl": 31, "msgctl": 71, "msgsnd": 69, "msgrcv": 70, "semctl": 66,
    "semop": 65, "semtimedop": 220, "mq_unlink": 241, "quotactl_fd": 443, "fspick": 433, "open_tree_attr": 467,
    "syslog": 103, "iopl": 172, "ioperm": 173, "vhangup": 153, "fanotify_init": 300, "kexec_file_load": 320,
}
_AARCH64 = {
    "connect": 203, "sendto": 206, "sendmsg": 211, "sendmmsg": 269, "socket": 198, "execve": 221, "execveat": 281,
    "openat": 56, "openat2": 437, "renameat": 38, "renameat2": 276, "mkdirat": 34, "unlinkat": 35, "linkat": 37,
    "symlinkat": 36, "truncate": 45, "fchmodat": 53, "fchmodat2": 452, "fchownat": 54, "utimensat": 88, "mknodat": 33,
    "setxattr": 5, "lsetxattr": 6, "removexattr": 14, "lremovexattr": 15, "kill": 129, "tkill": 130, "tgkill": 131,
    "pidfd_send_signal": 424, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "ptrace": 117,
    "process_vm_writev": 271, "io_uring_setup": 425, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "setns": 268, "unshare": 97, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219,
    "add_key": 217, "request_key": 218, "init_module": 105, "finit_module": 273, "delete_module": 106,
    "kexec_load": 104, "reboot": 142, "swapon": 224, "swapoff": 225, "sethostname": 161, "setdomainname": 162,
    "settimeofday": 170, "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266, "quotactl": 60, "acct": 89,
    "open_by_handle_at": 265, "fsopen": 430, "fsmount": 432, "move_mount": 429, "open_tree": 428, "mount_setattr": 442,
    "shmget": 194, "msgget": 186, "semget": 190, "mq_open": 180, "pidfd_getfd": 438, "process_madvise": 440,
    "fchmod": 52, "fchown": 55, "fsetxattr": 7, "fremovexattr": 16, "setxattrat": 463, "removexattrat": 466,
    "file_setattr": 469, "ioctl": 29, "fcntl": 25, "bind": 200, "clone": 220, "clone3": 435, "setsid": 157,
    "setpgid": 154, "setpriority": 140, "prlimit64": 261, "sched_setaffinity": 122, "sched_setscheduler": 119,
    "sched_setparam": 118, "sched_setattr": 274, "ioprio_set": 30, "migrate_pages": 238, "move_pages": 239,
    "process_mrelease": 448, "shmat": 196, "shmctl": 195, "msgctl": 187, "msgsnd": 189, "msgrcv": 188, "semctl": 191,
    "semop": 193, "semtimedop": 192, "mq_unlink": 181, "quotactl_fd": 443, "fspick": 433, "open_tree_attr": 467,
    "syslog": 116, "vhangup": 58, "fanotify_init": 262, "kexec_file_load": 294,
}
# fmt: on
_MACHINES = {"x86_64": Machine(0xC000003E, _X86_64), "aarch64": Machine(0xC00000B7, _AARCH64)}
SECCOMP = {"x86_64": 317, "aarch64": 277}
CAPSET = {"x86_64": 126, "aarch64": 91}
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446


def machine() -> Machine:
    """This machine.

    Raises:
        KernelRefused: It is none that the layers are built for.
    """
    name = os.uname().machine if hasattr(os, "uname") else platform.machine()
    if sys.platform != "linux" or name not in _MACHINES or sys.maxsize < 2**32:
        raise KernelRefused(f"kernel layers are for Linux on x86_64 and aarch64, this is {sys.platform} on {name}")
    return _MACHINES[name]


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def prepare() -> None:
    """Load what the calls below need, ahead of a guard that would object to it."""
    _libc()


def syscall(number: int, *args: object) -> int:
    """Make a system call.

    Raises:
        OSError: It failed.
    """
    converted = [ctypes.c_long(each) if isinstance(each, int) else each for each in args]
    found = int(_libc().syscall(ctypes.c_long(number), *converted))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


def seccomp(operation: int, flags: int, program: object) -> int:
    """``seccomp(2)``. Raises OSError."""
    return syscall(SECCOMP[os.uname().machine], operation, flags, program)


def no_new_privileges() -> None:
    """Give up gaining privileges by executing programs, which Landlock and seccomp ask for. Raises OSError."""
    if _libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """``mount(2)``. Raises OSError."""
    words = [os.fsencode(text) if text else None for text in (source, target, kind)]
    if _libc().mount(*words, ctypes.c_ulong(flags), os.fsencode(options) or None) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def unshare(flags: int) -> None:
    """``unshare(2)``. Raises OSError."""
    if _libc().unshare(flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
