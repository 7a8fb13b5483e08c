"""Whether this machine has the kernel layers that a replay is held by."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
_PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.kernel import call_filter, calls, landlock, namespaces
calls.prepare()
namespaces.enter()
landlock.restrict(["/dev/null"])
call_filter.install(listened=True)
"""


@functools.cache
def has_layers() -> bool:
    """Try them all in a process of its own."""
    return subprocess.run([sys.executable, "-c", _PROBE, str(SRC)], capture_output=True, check=False).returncode == 0


needs_kernel_layers = pytest.mark.skipif(
    not has_layers(), reason="the kernel has no namespaces, Landlock or seccomp here"
)

_WITHOUT = """
import errno, os, sys
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.kernel import call_filter, calls
calls.prepare()
calls.no_new_privileges()
absent = call_filter.ERRNO | errno.ENOSYS
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, absent), (0x06, 0, 0, call_filter.ALLOW)]
calls.seccomp(1, 0, call_filter.packed(code))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def without_landlock(*arguments: str) -> list[str]:
    """A command that runs Python with ``arguments`` on a kernel that, to it, has no Landlock."""
    return [sys.executable, "-c", _WITHOUT, str(SRC), *arguments]
