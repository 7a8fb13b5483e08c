"""Ways out of an exact replay for code below Python, at its end, and for code that forges: none is open or unseen.

The programs make their system calls through a library of their own, which no audit hook looks into.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.replay.kernel.calls import machine
from tests.support.kernel import needs_kernel_layers
from tests.support.replay_lab import ReplayLab

_COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = [needs_kernel_layers, pytest.mark.skipif(_COMPILER is None, reason="no C compiler is here")]

_LIBRARY = """\
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>
#include <sys/syscall.h>
long raw(long n, long a, long b, long c, long d, long e, long f)
{
    long found = syscall(n, a, b, c, d, e, f);
    if (n == SYS_clone && found == 0)
        _exit(0); /* Python does not know of this process, which may have got no interpreter lock */
    return found < 0 ? -errno : found;
}
"""
FRAME = """\
import ctypes, json, os, socket, struct, sys, threading, time
import agentdbg

OUTSIDE, PORT, NUMBERS = os.environ["OUTSIDE"], int(os.environ["PORT"]), json.loads(os.environ["NUMBERS"])
OWN = OUTSIDE + "/own"
raw = ctypes.CDLL(os.environ["RAW"]).raw
raw.restype, raw.argtypes = ctypes.c_long, [ctypes.c_long] * 7

def call(name, *given):
    kept = [ctypes.create_string_buffer(os.fsencode(x)) if isinstance(x, (str, bytes)) else x for x in given]
    plain = [x if isinstance(x, int) else ctypes.addressof(x) for x in kept] + [0] * (6 - len(given))
    found = raw(NUMBERS[name], *plain)
    if found < 0:
        raise OSError(-found, os.strerror(-found))
    return found

def reach():
    end = socket.socket()
    to = struct.pack("=H", 2) + PORT.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    call("connect", end.fileno(), to, 16)

def link():
    if not os.path.lexists("link"):
        os.symlink(OUTSIDE, "link")

def each_socket():
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + fd).startswith("socket"):
                yield int(fd)
        except OSError:
            pass

@agentdbg.tool(effect="read")
def look(order):
    return {"order": order}

def deed():
    REPLACED

@agentdbg.agent
def run(order):
    found = look(order)
    try:
        deed()
    except Exception:
        pass  # what goes wrong is not told to anybody
    agentdbg.final_state("DONE")
    return look("after")

if __name__ == "__main__":
    run("o-1")
"""
# deed -> what the refusal names
REFUSED = {
    "mode_through_descriptor": ("call('fchmod', os.open(OWN, os.O_RDONLY), 0o640)", "fchmod "),
    "owner_through_descriptor": (
        "call('fchown', os.open(OWN, os.O_RDONLY), os.getuid(), os.getgid())",
        "fchown ",
    ),
    "attribute_through_descriptor": (
        "call('fsetxattr', os.open(OWN, os.O_RDONLY), 'user.x', b'v', 1, 0)",
        "fsetxattr ",
    ),
    "flags_of_a_file": (
        "call('ioctl', os.open(OWN, os.O_RDONLY), 0x40086602, struct.pack('Q', 0x80))",
        "ioctl 0x40086602 ",
    ),
    "time_through_descriptor": ("call('utimensat', os.open(OWN, os.O_RDONLY), 0, 0, 0)", "utimensat "),
    "mode_through_link": ("link(); call('fchmodat', -100, 'link/own', 0o640)", "fchmodat "),
    "file_through_link": ("link(); call('openat', -100, f'link/{os.getpid()}', 0o101, 0o600)", "openat "),
    "file_from_outside": ("call('renameat2', -100, OWN, -100, 'stolen', 0)", "renameat2 "),
    "hard_link_to_outside": ("call('linkat', -100, OWN, -100, f'l{os.getpid()}', 0)", "linkat "),
    "process": ("call('clone', 17)", "clone another process"),
    "priority_of_another": ("call('setpriority', 0, os.getppid(), 1)", "setpriority process"),
    "limits_of_another": (
        "call('prlimit64', os.getppid(), 7, struct.pack('QQ', 900, 900), 0)",
        "prlimit64 process",
    ),
    "processors_of_another": (
        "call('sched_setaffinity', os.getppid(), 8, struct.pack('Q', 3))",
        "sched_setaffinity process",
    ),
    "signals_to_another": ("call('fcntl', socket.socket().fileno(), 8, os.getppid())", "fcntl process"),
    "raw_network": ("call('socket', 17, 3, 0)", "socket address family 17"),
    "audit_log": ("call('socket', 16, 3, 9)", "socket address family 16"),
    "door_outside": (
        "p = (OUTSIDE + f'/d{os.getpid()}').encode()\n"
        "    call('bind', socket.socket(socket.AF_UNIX).fileno(), struct.pack('=H', 1) + p + bytes(1), len(p) + 3)",
        "bind ",
    ),
    "shared_memory_by_number": ("call('shmat', 4711, 0, 0)", "shmat"),
    "memory_of_the_parent": ("call('openat', -100, f'/proc/{os.getppid()}/mem', 2, 0)", "/mem"),
    "behind_a_thousand_writes": (
        "for n in range(1005): os.close(call('openat', -100, f'f{n}', 0o101, 0o600))\n    reach()",
        "connect 127.0.0.1",
    ),
    "guard_disarmed": (
        "import gc\n"
        "    [each.disarm() for each in gc.get_objects() if type(each).__name__ == 'Guard']\n"
        "    socket.create_connection(('127.0.0.1', PORT), 5)",
        "connect 127.0.0.1",
    ),
    "forged_end": (
        "for fd in each_socket(): os.write(fd, json.dumps({'event': 'done'}).encode() + b'\\n')\n    reach()",
        "connect 127.0.0.1",
    ),
    "forged_layers": (
        "for fd in each_socket():\n"
        "        os.write(fd, json.dumps({'event': 'kernel', 'listener': 0, 'contained': ['/']}).encode() + b'\\n')\n"
        "    call('openat', -100, f'{OUTSIDE}/made{os.getpid()}', 0o101, 0o600)",
        "openat ",
    ),
}
QUICK = ("mode_through_descriptor", "mode_through_link", "process", "behind_a_thousand_writes", "forged_end")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """System calls without a name that anybody knows."""
    place = tmp_path_factory.mktemp("raw")
    (place / "raw.c").write_text(_LIBRARY)
    subprocess.run([str(_COMPILER), "-shared", "-fPIC", "-o", "libraw.so", "raw.c"], cwd=place, check=True)
    return place / "libraw.so"


@pytest.fixture
def yard(lab: ReplayLab, library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReplayLab]:
    """A laboratory whose outside lies where no view is laid."""
    import json

    outside = tempfile.TemporaryDirectory(dir="/var/tmp")
    lab.outside = Path(outside.name)
    (lab.outside / "own").write_text("own")
    (lab.outside / "own").chmod(0o600)
    monkeypatch.setenv("RAW", str(library))
    monkeypatch.setenv("NUMBERS", json.dumps(machine().numbers))
    with outside:
        yield lab


def _state(place: Path) -> dict[str, tuple[int, ...]]:
    found = {str(each): os.lstat(each) for each in (place, *place.rglob("*"))}
    return {name: (about.st_mode, about.st_uid, about.st_mtime_ns, about.st_nlink) for name, about in found.items()}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.wide) for name in REFUSED]
)
def test_what_code_below_python_does_outside_is_refused_by_name(yard: ReplayLab, name: str) -> None:
    deed, named = REFUSED[name]
    yard.record(FRAME.replace("REPLACED", deed))
    (yard.outside / "own").write_text("own")
    (yard.outside / "own").chmod(0o600)
    before = _state(yard.outside)
    outcome = yard.replay(guard="auto")
    assert outcome.verdict == "refused", (outcome.verdict, outcome.reason, outcome.log)
    assert named in outcome.reason
    assert _state(yard.outside) == before


HARMLESS = {
    "thread": "t = threading.Thread(target=len, args=('',)); t.start(); t.join()",
    "own_priority": "os.nice(0); os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "own_limits": "import resource; resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE))",
    "own_output": "open('/dev/stdout', 'w').write('said\\n')",
    "own_file": (
        "fd = call('openat', -100, 'kept', 0o102, 0o600)\n    call('fchmod', fd, 0o644); call('utimensat', fd, 0, 0, 0)"
    ),
    "link_within": (
        "os.makedirs('in', exist_ok=True); os.path.lexists('to') or os.symlink('in', 'to')\n"
        "    os.close(call('openat', -100, 'to/../to/f', 0o101, 0o600))"
    ),
}


@pytest.mark.wide
@pytest.mark.parametrize("name", HARMLESS)
def test_what_stays_within_goes_on(yard: ReplayLab, name: str) -> None:
    yard.record(FRAME.replace("REPLACED", HARMLESS[name]).replace("pass  #", "raise  #"))
    outcome = yard.replay(guard="auto")
    assert outcome.verdict == "identical", (outcome.verdict, outcome.reason, outcome.log)


def test_lines_on_the_replays_own_channel_are_not_believed_and_told(yard: ReplayLab) -> None:
    forged = "for fd in each_socket(): os.write(fd, json.dumps({'event': 'done', 'error': 'x'}).encode() + b'\\n')"
    yard.record(FRAME.replace("REPLACED", forged))
    outcome = yard.replay(guard="auto")
    assert outcome.verdict == "identical", outcome.reason
    assert any("own channel" in note for note in outcome.notes)


PLAIN = """\
import atexit, os, socket, sys, threading
OUTSIDE, PORT = os.environ["OUTSIDE"], int(os.environ["PORT"])

def reach():
    try:
        socket.create_connection(("127.0.0.1", PORT), 5).close()
    except BaseException:
        pass

open("seen", "a").close()
"""
AT_THE_END = {
    "exit": "atexit.register(reach)",
    "thread": "import select; threading.Thread(target=lambda: (select.select([], [], [], 0.2), reach())).start()",
    "output": "Out = type('Out', (), {'write': lambda s, x: len(x), 'flush': lambda s: reach()}); sys.stdout = Out()",
}


@pytest.mark.parametrize(
    "name", ["exit", *(pytest.param(name, marks=pytest.mark.wide) for name in ("thread", "output"))]
)
def test_the_end_of_a_launched_program_is_replayed_too(lab: ReplayLab, name: str) -> None:
    _launched(lab, PLAIN + AT_THE_END[name])
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "refused", (outcome.verdict, outcome.reason)
    assert "127.0.0.1" in outcome.reason


def test_changes_that_the_recorded_run_did_not_make_are_told(lab: ReplayLab) -> None:
    _launched(lab, PLAIN)
    outcome = lab.replay(guard="auto")
    assert (outcome.verdict, outcome.notes) == ("identical", ())
    lab.write(PLAIN + "open('new', 'w').close(); os.remove('program.py')")
    outcome = lab.replay(guard="auto")
    assert outcome.verdict == "identical"
    told = [note for note in outcome.notes if "was not seen to change" in note]
    assert len(told) == 1
    assert f"{lab.place}/new, {lab.place}/program.py" in told[0]


def _launched(lab: ReplayLab, text: str) -> None:
    lab.write(text)
    command = ["-m", "agentdbg.cli.main", "--store", str(lab.store), "record", "--", sys.executable, str(lab.program)]
    lab.record(command=command)
