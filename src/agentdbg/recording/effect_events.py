"""Which audit events are effects: one check per event, pure judgement without raising or reporting.

Light: it is loaded before the program that is recorded.
"""

from __future__ import annotations

import os
import sys

from agentdbg.recording.frames import outer_frame

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    Args: TypeAlias = tuple[Any, ...]
    Check: TypeAlias = Callable[[Args], str | None]
    Place: TypeAlias = tuple[int, int | None]

WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
# Looked up by name through ctypes, each of these reaches outside without another audit event.
# fmt: off
LIBC_EFFECTS = frozenset([
    "bind", "connect", "socket", "send", "sendto", "sendmsg", "sendmmsg", "getaddrinfo", "gethostbyname",
    "gethostbyname_r",
    "open", "openat", "openat2", "creat", "fopen", "freopen", "mkstemp", "mkostemp", "mkdtemp", "shm_open", "unlink",
    "unlinkat", "remove", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir",
    "mkdirat", "rmdir", "mkfifo", "mkfifoat", "mknod", "mknodat", "truncate", "chmod", "fchmodat", "chown", "lchown",
    "fchownat", "utime", "utimes", "lutimes", "utimensat", "setxattr", "lsetxattr", "removexattr", "lremovexattr",
    "mount", "umount", "umount2", "pivot_root", "chroot", "system", "popen", "fork", "vfork", "clone", "execv",
    "execve", "execvp", "execvpe", "execl", "execle", "execlp", "fexecve", "execveat", "posix_spawn", "posix_spawnp",
    "kill", "killpg", "tgkill", "pidfd_send_signal", "ptrace", "process_vm_writev", "syscall", "dlsym", "dlvsym",
])
# fmt: on


_DEVICES = ("/dev/zero", "/dev/full", "/dev/tty")
_HOSTS = "/etc/hosts"
_hosts: set[str] = set()
"""Names and addresses of the machine's own table, once they are asked for."""


class Rules:
    """The table of checks.

    Attributes:
        checks: Event name to a check, which returns the effect's detail, or ``None`` when the event does no harm.
    """

    def __init__(self, allow_write: Sequence[str]) -> None:
        """Resolve the places that may be written.

        Args:
            allow_write: Files and directories (with everything below them); they are resolved now, once.
        """
        roots = [os.path.normcase(os.path.realpath(path)) for path in allow_write]
        self._files = frozenset([*roots, os.path.normcase(os.devnull), *_DEVICES])
        self._folders = tuple(root if root.endswith(os.sep) else root + os.sep for root in roots)
        self.checks: Mapping[str, Check] = {**self._file_checks(), **_network_checks(), **_process_checks()}

    def _file_checks(self) -> dict[str, Check]:
        inode, entry = self._inode, self._entry
        return {
            "open": self._open,
            "os.mkdir": self._mkdir,
            "os.rmdir": entry((0, 1)),
            "os.remove": entry((0, 1)),
            "os.rename": entry((0, 2), (1, 3)),
            "os.symlink": entry((1, 2)),
            # A hard link inside would make the outside file writable, so its source counts as written.
            "os.link": inode((0, 2), (1, 3)),
            "os.truncate": self._truncate,
            "os.chmod": inode((0, 2)),
            "os.chown": inode((0, 3)),
            "os.utime": inode((0, 3)),
            "os.chflags": inode((0, None)),
            "os.setxattr": inode((0, None)),
            "os.removexattr": inode((0, None)),
            "shutil.copyfile": inode((1, None)),
            "shutil.copymode": inode((1, None)),
            "shutil.copystat": inode((1, None)),
            "shutil.copytree": inode((1, None)),
            "shutil.move": entry((0, None), (1, None)),
            "shutil.rmtree": entry((0, 1)),
            "shutil.chown": inode((0, None)),
            "shutil.make_archive": inode((0, None)),
            "shutil.unpack_archive": inode((1, None)),
            "sqlite3.connect": lambda args: self.database(args[0]),
        }

    def write(self, path: object, dir_fd: object = None) -> str | None:
        """Judge opening ``path`` for writing: its resolved path when it may not be, else ``None``."""
        target = resolve(path, dir_fd)
        if target.startswith(f"/proc/{os.getpid()}/fd/"):
            return None  # ``/dev/stdout`` where that is a pipe: it is open already
        return None if self._allowed(target) else target

    def create(self, path: object, dir_fd: object = None) -> str | None:
        """Judge making or removing the directory entry ``path`` itself, wherever it points."""
        target = resolve(path, dir_fd, follow=False)
        return None if self._allowed(target) else target

    def database(self, name: Any, *, uri: bool = True) -> str | None:
        """Judge opening an SQLite database (``uri``: ``file:`` names are URIs, which the audit event does not say)."""
        text = os.fsdecode(name)
        if text in ("", ":memory:"):
            return None
        if not (uri and text.startswith("file:")):
            return self.write(text)
        from urllib.parse import parse_qs, unquote

        path, _, query = text.removeprefix("file:").partition("#")[0].partition("?")
        options = parse_qs(query)
        if options.get("mode", [""])[-1] in ("ro", "memory") or options.get("immutable", ["0"])[-1] in ("1", "true"):
            return None
        if path.startswith("//"):
            path = "/" + path[2:].partition("/")[2]
        return None if path in ("", ":memory:") else self.write(unquote(path))

    def _allowed(self, target: str) -> bool:
        target = os.path.normcase(target)
        return target in self._files or target.startswith(self._folders)

    def _open(self, args: Args) -> str | None:
        path, mode, flags = args
        if isinstance(flags, int):
            if not flags & WRITE_FLAGS:
                return None
        elif isinstance(mode, str) and not set(mode) & set("wax+"):
            return None
        return None if isinstance(path, int) else self.write(path)

    def _mkdir(self, args: Args) -> str | None:
        target = resolve(args[0], args[2], follow=False)
        # mkdir(exist_ok=True) is everywhere; on what exists it can only answer EEXIST.
        return None if self._allowed(target) or os.path.lexists(target) else target

    def _truncate(self, args: Args) -> str | None:
        # A descriptor has to be open for writing already, and that was judged when it was opened.
        return None if isinstance(args[0], int) else self.write(args[0])

    def _entry(self, *places: Place) -> Check:
        """A check of directory entries; ``places``: indexes of a path and its directory descriptor."""

        def check(args: Args) -> str | None:
            targets = [resolve(args[path], _at(args, fd), follow=False) for path, fd in places]
            return None if all(map(self._allowed, targets)) else " -> ".join(targets)

        return check

    def _inode(self, *places: Place) -> Check:
        """The same for calls that may follow a final link, which their events do not say: both ends count."""

        def check(args: Args) -> str | None:
            at = [(args[path], _at(args, fd)) for path, fd in places]
            targets = [resolve(path, fd) for path, fd in at]
            entries = [resolve(path, fd, follow=False) for path, fd in at]
            return None if all(map(self._allowed, targets + entries)) else " -> ".join(targets)

        return check


def resolve(path: Any, dir_fd: object = None, *, follow: bool = True) -> str:
    """The absolute path that the system would act on, links and ``..`` resolved as the kernel does.

    Args:
        path: Text, bytes, path object or an open descriptor.
        dir_fd: Directory that a relative path starts from; ``None`` or -1 is the working directory.
        follow: Whether a link in the last place is followed too.
    """
    if isinstance(path, int):
        return descriptor_path(path)
    text = os.fsdecode(path)
    if isinstance(dir_fd, int) and dir_fd >= 0 and not os.path.isabs(text):
        text = os.path.join(descriptor_path(dir_fd), text)
    head, tail = os.path.split(text)
    if follow or tail in ("", ".", ".."):
        return os.path.realpath(text)
    return os.path.join(os.path.realpath(head or os.curdir), tail)


def descriptor_path(fd: int) -> str:
    """Where an open descriptor points. Raises OSError where the system cannot say."""
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(fd, 50, b"\0" * 1024).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{fd}")


def _at(args: Args, index: int | None) -> object:
    return None if index is None or index >= len(args) else args[index]


def _network_checks() -> dict[str, Check]:
    def reach(args: Args) -> str | None:
        return None if args[1] is None or _in_socketpair() else address(args[1])

    def look_up(args: Args) -> str | None:
        return None if args[0] is None or _numeric(args[0]) or _is_at_hand(args[0]) else _text(args[0])

    def look_up_service(args: Args) -> str | None:
        return None if look_up(args) is None else address((args[0], args[1]))

    return {
        "socket.connect": reach,
        "socket.bind": lambda args: None if _asks_for_ipv6(args[1]) else reach(args),
        "socket.sendto": reach,
        "socket.sendmsg": reach,  # no address: over a connection, which was judged when it was made
        "socket.getaddrinfo": look_up_service,
        "socket.gethostbyname": look_up,
        "socket.gethostbyaddr": lambda args: None if _is_at_hand(args[0]) else _text(args[0]),
        "socket.getnameinfo": lambda args: address(args[0]),
        "socket.sethostname": lambda args: _text(args[0]),
        "syslog.openlog": lambda args: _text(args[0]),
        "syslog.syslog": lambda args: _text(args[1]),
        "webbrowser.open": lambda args: _text(args[0]),
    }


def _process_checks() -> dict[str, Check]:
    def started(args: Args) -> str:
        return command(args[0], args[1])

    def signalled(args: Args) -> str | None:
        pid, number = args[0], args[1]
        harmless = os.name == "posix" and number == 0  # asks whether the process exists
        return None if harmless or pid == os.getpid() else f"{pid} {number}"

    return {
        "subprocess.Popen": started,
        "os.exec": started,
        "os.posix_spawn": started,
        "os.spawn": lambda args: command(args[1], args[2]),
        "os.system": lambda args: _text(args[0]),
        "os.startfile": lambda args: _text(args[0]),
        "os.startfile/2": lambda args: _text(args[0]),
        "pty.spawn": lambda args: command("", args[0]),
        "os.fork": lambda args: "",
        "os.forkpty": lambda args: "",
        "os.kill": signalled,
        "os.killpg": lambda args: None if os.name == "posix" and args[1] == 0 else f"{args[0]} {args[1]}",
        "_winapi.CreateProcess": lambda args: _text(args[1] or args[0]),
        "sys.remote_exec": lambda args: _text(args[0]),
        "ctypes.dlsym": _symbol,
        "ctypes.dlsym/handle": _symbol,
    }


def _symbol(args: Args) -> str | None:
    if isinstance(args[1], int):
        return None
    name = _text(args[1])
    plain = name.lstrip("_").removeprefix("libc_").removesuffix("64")
    return name if plain in LIBC_EFFECTS else None


def address(value: object) -> str:
    """A socket address as people write it: ``host:port`` or a path."""
    if isinstance(value, tuple):
        return ":".join(_text(part) for part in value[:2])
    return _text(value)


def command(executable: object, argv: object) -> str:
    """A command line: the executable, then the arguments after the program's name."""
    program = _text(executable) if executable else ""
    if not isinstance(argv, list | tuple):
        return program or _text(argv)
    words = [_text(word) for word in argv]
    return " ".join([program or (words[0] if words else ""), *words[1:]])


def _text(value: object) -> str:
    if isinstance(value, str | bytes | os.PathLike):
        return os.fsdecode(value)
    return str(value) if value is None or isinstance(value, int) else type(value).__name__


def _numeric(host: object) -> bool:
    """Whether a host needs no look-up."""
    import _socket

    text = _text(host)
    for family in (_socket.AF_INET, _socket.AF_INET6):
        try:
            _socket.inet_pton(family, text)
        except (OSError, ValueError):
            continue
        return True
    return text == ""


def _is_at_hand(host: object) -> bool:
    """Whether the machine's own table has a name, or an address, so that no other machine is asked."""
    return _text(host).lower() in _table_of_hosts()


def _table_of_hosts() -> set[str]:
    if not _hosts:
        _hosts.add("localhost")
        try:
            with open(_HOSTS, encoding="utf-8", errors="replace") as file:
                _hosts.update(word.lower() for line in file for word in line.partition("#")[0].split())
        except OSError:
            pass  # there is no such table
    return _hosts


def nothing_to_start(event: str, args: Args) -> OSError | None:
    """What a start ends with when there is no such program; ``None`` where there is one, or it is not known."""
    if event != "subprocess.Popen" or os.name != "posix":
        return None
    given, _, cwd, env = args
    if not isinstance(given, str | bytes | os.PathLike) or (cwd is not None and not os.path.isdir(cwd)):
        return None
    program = os.fsdecode(given)
    if os.path.dirname(program):
        places = [os.path.join(os.fsdecode(cwd or ""), program)]
    else:
        places = [os.path.join(os.fsdecode(place), program) for place in os.get_exec_path(env)]
    if any(map(os.path.lexists, places)):
        return None
    from errno import ENOENT

    return FileNotFoundError(ENOENT, os.strerror(ENOENT), given)


def _in_socketpair() -> bool:
    """Whether the standard library builds a socket pair out of loopback sockets, as it does on Windows."""
    frame = outer_frame()
    if frame is None or frame.f_code.co_name not in ("socketpair", "_fallback_socketpair"):
        return False
    module = sys.modules.get("socket")
    return module is not None and frame.f_globals is vars(module)


def _asks_for_ipv6(target: object) -> bool:
    """Whether ``urllib3``, which is imported, tries a socket of its own to see if the machine knows IPv6."""
    frame = outer_frame()
    if target != ("::1", 0) or frame is None or frame.f_code.co_name != "_has_ipv6":
        return False
    return str(frame.f_globals.get("__name__", "")).endswith("urllib3.util.connection")
