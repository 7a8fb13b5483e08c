"""Whether the process that owns a run still lives: boot id, process id and the process's start time together.

A process id alone is reused; the start time tells the reuse. Used on the agent's side too: standard library only, and
cheap.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping

_BOOT_FILE = "/proc/sys/kernel/random/boot_id"
_STARTTIME_AFTER_NAME = 19
_PROCESS_QUERY = 0x1000
_STILL_ACTIVE = 259
_FOREIGN_SILENCE_S = 600


def boot_id() -> str:
    """An id of this boot of the machine; empty where the platform offers none."""
    try:
        with open(_BOOT_FILE, encoding="ascii") as file:
            return file.read(64).strip()
    except (OSError, ValueError):
        return _darwin_boot_id() if sys.platform == "darwin" else ""


def process_start(pid: int) -> int:
    """When a process started, in clock ticks since the boot; 0 where that is not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
        return int(fields[_STARTTIME_AFTER_NAME])
    except (OSError, ValueError, IndexError):
        return 0


def here() -> dict[str, object]:
    """This process as the ``owner`` of a run."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "boot": boot_id(), "start": process_start(pid)}


def is_local(owner: Mapping[str, object]) -> bool:
    """Whether this machine can tell if the owner lives: the same host, or no host named."""
    return owner.get("host") in (None, "", socket.gethostname())


def is_alive(owner: Mapping[str, object]) -> bool:
    """Whether the owning process is alive on this machine. Anything malformed is not."""
    pid, boot, start = owner.get("pid"), owner.get("boot"), owner.get("start")
    if not is_local(owner) or isinstance(pid, bool) or not isinstance(pid, int) or not 0 < pid < 2**31:
        return False
    if isinstance(boot, str) and boot and boot != boot_id():
        return False
    if not _exists(pid):
        return False
    now = process_start(pid)
    known = isinstance(start, int) and not isinstance(start, bool) and start > 0 and now > 0
    return not known or start == now


def is_presumed_alive(owner: Mapping[str, object], last_change: float) -> bool:
    """As ``is_alive``; of another machine's process, whether the run has changed in the last ten minutes.

    Args:
        owner: The ``owner`` of a run.
        last_change: When its files last changed, in seconds since the epoch.
    """
    if is_local(owner):
        return is_alive(owner)
    return time.time() - last_change < _FOREIGN_SILENCE_S


def _exists(pid: int) -> bool:
    if sys.platform == "win32":
        return _exists_on_windows(pid)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(4096).rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False


def _exists_on_windows(pid: int) -> bool:
    # os.kill(pid, 0) would send CTRL_C_EVENT there.
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(_PROCESS_QUERY, False, pid)
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == _STILL_ACTIVE


def _darwin_boot_id() -> str:
    import ctypes

    buffer = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(buffer))
    try:
        failed = ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", buffer, ctypes.byref(size), None, 0)
    except (OSError, AttributeError):
        return ""
    return "" if failed else buffer.value.decode("ascii", "replace")
