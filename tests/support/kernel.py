"""Whether this machine has the kernel layers that a replay is held by."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
_PROBE = """
import json, sys, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.kernel import call_filter, calls, landlock, namespaces
place = Path(tempfile.mkdtemp(dir=sys.argv[2]))
for name in ("seen", "upper", "work", "scratch"):
    (place / name).mkdir()
calls.prepare()
names = namespaces.enter()
views = [namespaces.View(*(str(place / name) for name in ("seen", "upper", "work")))]
names += ["copy-on-write view"] * len(namespaces.cover(views, str(place / "scratch")))
names.append(f"landlock {landlock.restrict(['/dev/null'])}")
assert call_filter.install(listened=True) is not None
print(json.dumps(["audit", *names, "seccomp"]))
"""


@functools.cache
def layers() -> tuple[str, ...]:
    """Every layer that can be had here, as an outcome names them; none when one that has to be is not to be had."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # the overlay's work directory is closed
        words = [sys.executable, "-c", _PROBE, str(SRC), place]
        done = subprocess.run(words, capture_output=True, check=False, encoding="utf-8")
    return tuple(json.loads(done.stdout)) if done.returncode == 0 else ()


def has_layers() -> bool:
    """Try them all in a process of its own."""
    return bool(layers())


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
