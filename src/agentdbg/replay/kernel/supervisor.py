"""The parent's answer to each system call that the filter asks about: let through what is contained, name the rest.

Source of the layouts: ``linux/seccomp.h`` and ``seccomp_unotify(2)``. What is read from the child's memory can change
until the kernel reads it again. Landlock and the namespaces hold writes and the network all the same; what they do not
know (mode, owner, times and attributes of files, datagrams to sockets that have a path) is held but for such a race.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agentdbg.replay.kernel import memory, paths
from agentdbg.replay.kernel.calls import machine, syscall
from agentdbg.replay.kernel.family import Family

_RECEIVE, _SEND, _STILL_ASKS = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1
_PIDFD_GETFD = 438
_ASK = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_PATH_AT = {
    **dict.fromkeys(("open", "creat", "mkdir", "rmdir", "unlink", "truncate", "chmod", "chown", "lchown"), (None, 0)),
    **dict.fromkeys(("utime", "utimes", "mknod", "setxattr", "lsetxattr", "removexattr", "lremovexattr"), (None, 0)),
    **dict.fromkeys(("openat", "openat2", "mkdirat", "unlinkat", "fchmodat", "fchmodat2", "fchownat"), (0, 1)),
    **dict.fromkeys(("utimensat", "futimesat", "mknodat", "setxattrat", "removexattrat", "file_setattr"), (0, 1)),
    **dict.fromkeys(("rename", "link", "symlink"), (None, 1)),
    **dict.fromkeys(("renameat", "renameat2", "linkat"), (2, 3)),
    "symlinkat": (1, 2),
    "execve": (None, 0),
    "execveat": (0, 1),
}
_FROM_AT = {
    **dict.fromkeys(("rename", "link"), (None, 0)),
    **dict.fromkeys(("renameat", "renameat2", "linkat"), (0, 1)),
}
"""The other end of what has two: taking something away from a place changes it, a second name makes it writable."""
_ENTRIES = (
    *("mkdir", "rmdir", "unlink", "mkdirat", "unlinkat", "rename", "link", "symlink", "renameat", "renameat2"),
    *("symlinkat", "mknod", "mknodat", "lchown", "lsetxattr", "lremovexattr"),
)
"""Calls that act on the name itself, wherever it leads."""
_FLAGS_AT = {"fchmodat2": 3, "fchownat": 4, "utimensat": 3, "setxattrat": 2, "removexattrat": 2, "file_setattr": 4}
_NO_FOLLOW, _DO_FOLLOW = 0x100, 0x400
_DESCRIPTOR_CALLS = ("fchmod", "fchown", "fsetxattr", "fremovexattr", "ioctl")
_OTHERS_AT = {
    **dict.fromkeys(("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"), 0),
    **dict.fromkeys(("prlimit64", "migrate_pages", "move_pages"), 0),
    **dict.fromkeys(("setpriority", "ioprio_set"), 1),
}
_SIGNALS_TO = (0x8901, 0x8902)
_SET_OWNER = 8
_PROCESS_KIND = {"setpriority": 0, "ioprio_set": 1}
_CONNECTS = {"connect": (1, 2), "sendto": (4, 5)}
_NETLINK = f"address family {int(getattr(socket, 'AF_NETLINK', 16))}"
"""The kernel itself, which the C library asks for the machine's addresses when it looks a host up."""
_NOWHERE = ("[::1]:0", "127.0.0.1:0")
_LOCAL = struct.pack("=H", int(getattr(socket, "AF_UNIX", 1)))
_FORKS = ("fork", "vfork", "clone")
_SESSION_CALLS = ("setsid", "setpgid")
"""Only those that are not the first process get here: they are told that it was done, and stay within reach."""
_SIGNALS = ("kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo")


@dataclass(frozen=True, slots=True)
class Asked:
    """A system call that was looked at.

    Attributes:
        call: Its name.
        detail: What it reached for: a path, an address, a process.
        allowed: Whether it went through: its writes are contained.
        pid: The process that made it.
    """

    call: str
    detail: str
    allowed: bool
    pid: int


class Supervisor:
    """Answers on its own thread until the filtered processes are gone."""

    def __init__(
        self,
        listener: int,
        writable: Sequence[str],
        report: Callable[[Asked], None],
        may_execute: Callable[[str, int], bool],
        may_connect: Callable[[str], bool] | None = None,
        *,
        alone: bool = True,
        family: Family | None = None,
    ) -> None:
        """Take over a listener.

        Args:
            listener: Descriptor that the child's filter was installed with; closed at the end.
            writable: Directories and files whose changes are contained.
            report: Called for every call that was looked at, from the supervisor's thread.
            may_execute: Whether a path may be executed by a process.
            may_connect: Whether an address may be reached, where the network was not left: no other layer holds then.
            alone: The network was left, so that an address of its own is no one else's.
            family: The processes that the program may start; ``None``: it may start none.
        """
        self._family = family
        self._listener = listener
        self._writable = tuple(writable)
        self._report = report
        self._may_execute = may_execute
        self._may_connect = may_connect
        self._alone = alone and may_connect is None
        self._names = {number: name for name, number in machine().numbers.items()}
        self._thread = threading.Thread(target=self._answer_all, name="agentdbg-supervisor", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait for the end, which comes with that of the last filtered process."""
        self._thread.join(seconds)

    def _answer_all(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        try:
            while any(event & select.POLLIN for _, event in poll.poll()):  # else the last process is gone
                self._answer_one()
        finally:
            os.close(self._listener)

    def _answer_one(self) -> None:
        buffer = bytearray(_ASK.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, buffer, True)
        except OSError:
            return  # interrupted, or the process that asked was killed meanwhile
        asked = _ASK.unpack(buffer)
        ident, pid, number, args = asked[0], asked[1], asked[3], asked[6:]
        name = self._names.get(number, f"system call {number}")
        try:
            allowed, detail = self._judge(name, pid, args)
            if name in _SESSION_CALLS:
                return self._answer(ident, errno.EPERM if self._is_first(pid) else 0, goes_on=False)
        except Exception:  # whatever it is, what was not understood does not go through
            if not self._still_asks(ident):
                return  # it has ended, or a signal came between: nothing was refused
            allowed, detail = False, "?"
        if detail is not None:
            self._report(Asked(name, detail, allowed, pid))
        self._answer(ident, 0 if allowed else errno.EPERM, goes_on=allowed)

    def _answer(self, ident: int, code: int, *, goes_on: bool) -> None:
        with suppress(OSError):  # the process is gone
            fcntl.ioctl(self._listener, _SEND, _ANSWER.pack(ident, 0, -code, _CONTINUE if goes_on else 0))

    def _is_first(self, pid: int) -> bool:
        return self._family is None or paths.process_of(pid) == self._family.first

    def _still_asks(self, ident: int) -> bool:
        """Whether the call waits for its answer; if not, its process may be gone, and its memory with it."""
        try:
            fcntl.ioctl(self._listener, _STILL_ASKS, struct.pack("=Q", ident))
        except OSError:
            return False
        return True

    # -- judging ----------------------------------------------------------------------------------

    def _judge(self, name: str, pid: int, args: Sequence[int]) -> tuple[bool, str | None]:
        """Whether a call goes through, and what it reached for; ``None`` when that is nothing to tell."""
        if name in _CONNECTS:
            place, length = _CONNECTS[name]
            raw = memory.read(pid, args[place], min(args[length], 128))
            local = self._family is not None and name == "connect" and raw[:2] == _LOCAL
            if local and self._family is not None and self._family.is_own(_address(raw), pid):
                return True, None
            return self._judge_address(_address(raw))
        if name == "sendmsg" or (name == "sendmmsg" and args[2] == 1):
            return self._judge_message(pid, args[1])
        if name == "sendmmsg" and self._may_connect is not None:
            found = [self._judge_message(pid, args[1] + 64 * i) for i in range(min(args[2], 64))]
            return next((each for each in found if not each[0]), (args[2] <= 64, None))
        if name == "bind":
            return self._judge_bind(pid, args)
        if name in _SIGNALS:
            return self._judge_signal(name, pid, args)
        if name in _SESSION_CALLS:
            return True, None
        if name in _OTHERS_AT or name == "fcntl":
            return _judge_process(name, pid, args)
        if name in _DESCRIPTOR_CALLS:
            return self._judge_descriptor(name, pid, args)
        if name in _PATH_AT:
            return self._judge_path(name, pid, args)
        if name == "socket":
            return False, f"address family {_signed(args[0])}"
        if name in _FORKS:
            return self._family is not None, None if self._family is not None else "another process"
        return False, ""

    def _judge_signal(self, name: str, pid: int, args: Sequence[int]) -> tuple[bool, str | None]:
        """To itself, and among the processes of the replay."""
        asks_only = name == "kill" and args[1] == 0  # whether the process is there
        target = _signed(args[0])
        family = self._family is not None and (target == paths.process_of(pid) or self._family.has(target))
        if asks_only or args[0] == pid or (family and name != "pidfd_send_signal"):
            return True, None
        return False, f"process {target}"

    def _judge_path(self, name: str, pid: int, args: Sequence[int]) -> tuple[bool, str | None]:
        path = self._path(name, pid, args, _PATH_AT[name])
        if name.startswith("exec"):
            family = self._family is not None and name == "execve"
            if family and self._family and self._family.may_execute(path, pid, args[1], args[2]):
                return True, None
            return self._may_execute(path, pid), path
        if name == "openat2" and not _open_how(pid, args[2]) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            return True, None
        if name in _FROM_AT and not self._is_contained(source := self._path(name, pid, args, _FROM_AT[name])):
            return False, source
        return self._is_contained(path), path

    def _judge_descriptor(self, name: str, pid: int, args: Sequence[int]) -> tuple[bool, str | None]:
        """What is changed through a descriptor, which may be open for reading."""
        path = paths.descriptor(pid, _signed(args[0]))
        if name == "ioctl":
            itself = args[1] & 0xFFFFFFFF in _SIGNALS_TO and _number(pid, args[2]) in (0, paths.process_of(pid))
            return itself or self._is_contained(path), None if itself else f"{args[1] & 0xFFFFFFFF:#x} {path}"
        unnamed = not path.startswith("/") or path.startswith("/memfd:")
        return unnamed or self._is_contained(path), None if unnamed else path

    def _judge_bind(self, pid: int, args: Sequence[int]) -> tuple[bool, str | None]:
        """Without the machine's network, an address is nobody's; a socket's path is a file.

        Any free port of the loopback is nobody's either: so libraries ask whether the machine knows IPv6.
        """
        raw = memory.read(pid, args[1], min(args[2], 128))
        address = _address(raw)
        if raw[:2] == struct.pack("=H", socket.AF_UNIX):
            if not raw[2:3].strip(b"\0"):
                return True, None
            path = paths.resolved(pid, paths.AT_CWD, address, follow=False)
            return self._is_contained(path), path
        nobodys = self._alone or address == _NETLINK or address in _NOWHERE
        return nobodys, None if nobodys else address

    def _judge_message(self, pid: int, at: int) -> tuple[bool, str | None]:
        """Over a connection, or a pair of sockets, a message has no address."""
        address, length = struct.unpack("=QI", memory.read(pid, at, 12))
        if not address or not length:
            return True, None
        return self._judge_address(_address(memory.read(pid, address, min(length, 128))))

    def _judge_address(self, address: str) -> tuple[bool, str | None]:
        if self._may_connect is not None and (address == _NETLINK or self._may_connect(address)):
            return True, None
        return False, address

    def _path(self, name: str, pid: int, args: Sequence[int], at: tuple[int | None, int]) -> str:
        folder, place = at
        base = paths.AT_CWD if folder is None else _signed(args[folder])
        given = memory.text(pid, args[place]) if args[place] else ""
        if not given and base != paths.AT_CWD:
            return paths.descriptor(pid, base)  # the call means the descriptor itself
        follow = name not in _ENTRIES
        if name in _FLAGS_AT:
            follow = not args[_FLAGS_AT[name]] & _NO_FOLLOW
        if name == "linkat":
            follow = at == _FROM_AT[name] and bool(args[4] & _DO_FOLLOW)
        return paths.resolved(pid, base, given, follow=follow)

    def _is_contained(self, path: str) -> bool:
        if path.startswith(paths.OPEN_ALREADY):
            return True
        return any(path == place or path.startswith(place.rstrip("/") + "/") for place in self._writable)


def _judge_process(name: str, pid: int, args: Sequence[int]) -> tuple[bool, str | None]:
    """What changes a process: its own threads alone."""
    if name == "fcntl":
        target = _signed(args[2]) if args[1] == _SET_OWNER else _number(pid, args[2] + 4)
    else:
        target = _signed(args[_OTHERS_AT[name]])
    if name == "prlimit64" and not args[2]:
        return True, None  # asks
    whole = name in _PROCESS_KIND and args[0] != _PROCESS_KIND[name]
    if not whole and (target == 0 or os.path.exists(f"/proc/{pid}/task/{target}")):
        return True, None
    return False, f"process {target}"


def take_listener(pid: int, number: int) -> int:
    """The parent's copy of a listener that a child has open under ``number``: it cannot send it past its own filter.

    Raises:
        OSError: The kernel has no such thing, or the child is gone.
    """
    process = os.pidfd_open(pid)
    try:
        return syscall(_PIDFD_GETFD, process, number, 0)
    finally:
        os.close(process)


def _open_how(pid: int, at: int) -> int:
    flags: int = struct.unpack("=Q", memory.read(pid, at, 8))[0]
    return flags


def _number(pid: int, at: int) -> int:
    found: int = struct.unpack("=i", memory.read(pid, at, 4))[0]
    return found


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _address(raw: bytes) -> str:
    """A socket address as people write it."""
    (family,) = struct.unpack_from("=H", raw)
    if family == socket.AF_INET:
        return f"{socket.inet_ntop(socket.AF_INET, raw[4:8])}:{int.from_bytes(raw[2:4], 'big')}"
    if family == socket.AF_INET6:
        return f"[{socket.inet_ntop(socket.AF_INET6, raw[8:24])}]:{int.from_bytes(raw[2:4], 'big')}"
    if family == socket.AF_UNIX:
        path = raw[2:]
        name = path.rstrip(b"\0") if path.startswith(b"\0") else path.partition(b"\0")[0]
        return os.fsdecode(name.replace(b"\0", b"@", 1))
    return f"address family {family}"
