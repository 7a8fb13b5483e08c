"""Real processes under all layers: what they reach for is refused or contained, and named, in native code too."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentdbg.replay.kernel.supervisor import Asked, Supervisor, take_listener
from tests.support.kernel import SRC, needs_kernel_layers

pytestmark = needs_kernel_layers

CHILD = """
import ctypes, json, os, socket, struct, sys
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.kernel import call_filter, calls, landlock, namespaces
place, port, fd = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
calls.prepare()
libc = ctypes.CDLL(None, use_errno=True)
namespaces.enter()
view = namespaces.View(place + "/view", place + "/scratch/u", place + "/scratch/w")
laid = namespaces.cover([view], place + "/scratch")
assert len(laid) == 1
os.chdir(place + "/view")
landlock.restrict([place + "/view", place + "/scratch", "/dev/null"])
listener = call_filter.install(listened=True)
os.write(fd, b"%d" % listener)
os.read(fd, 1)
os.close(listener)
found = {}

def attempt(name, deed):
    try:
        found[name] = deed()
    except OSError as problem:
        found[name] = problem.errno

def native(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return "done"

to = struct.pack("=H", 2) + port.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
attempt("read", lambda: open("kept").read())
attempt("write", lambda: native(libc.creat(b"kept", 0o600)))
attempt("relative", lambda: native(libc.open(b"../outside/made", os.O_CREAT | os.O_WRONLY, 0o600)))
attempt("absolute", lambda: native(libc.creat((place + "/outside/made").encode(), 0o600)))
attempt("link_out", lambda: native(libc.creat(b"link/made", 0o600)))
attempt("renamed", lambda: native(libc.rename(b"kept", (place + "/outside/kept").encode())))
attempt("connect", lambda: native(libc.connect(socket.socket().fileno(), to, 16)))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect(place + "/outside/door"))
attempt("datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port)))
attempt("message", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b"x"], [], 0, ("127.0.0.1", port)))
attempt("pair", lambda: [end.sendmsg([b"x"]) for end in socket.socketpair()][0])
attempt("execute", lambda: os.execv("/bin/true", ["true"]))
attempt("forked", lambda: native(libc.system(b"true > /dev/null") and -1))
attempt("signal", lambda: os.kill(os.getppid(), 10))
attempt("is_there", lambda: os.kill(os.getppid(), 0))
attempt("mount", lambda: native(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)))
attempt("uring", lambda: native(libc.syscall(calls.machine().numbers["io_uring_setup"], 8, bytes(120))))
attempt("own_signal", lambda: os.kill(os.getpid(), 28))
print(json.dumps(found))
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name in ("view", "outside", "scratch/u", "scratch/w"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "view" / "kept").write_text("kept")
    (tmp_path / "view" / "link").symlink_to(tmp_path / "outside")
    return tmp_path


def test_a_held_process_reaches_nothing_and_everything_it_tried_is_named(world: Path) -> None:
    with ExitStack() as ends:
        _held_and_named(world, ends)


def _held_and_named(world: Path, ends: ExitStack) -> None:
    seen: list[Asked] = []
    door = ends.enter_context(socket.socket(socket.AF_UNIX))
    door.bind(str(world / "outside" / "door"))
    door.listen()
    server = ends.enter_context(socket.create_server(("127.0.0.1", 0)))
    port = server.getsockname()[1]
    ours, theirs = map(ends.enter_context, socket.socketpair())
    command = [sys.executable, "-c", CHILD, str(SRC), str(world), str(port), str(theirs.fileno())]
    child = subprocess.Popen(command, pass_fds=(theirs.fileno(),), stdout=subprocess.PIPE, text=True)
    theirs.close()
    supervisor = Supervisor(
        take_listener(child.pid, int(ours.recv(16))),
        [str(world / "view"), str(world / "scratch"), "/dev/null"],
        seen.append,
        lambda path, pid: False,
    )
    supervisor.start()
    ours.sendall(b"g")
    found = json.loads(child.communicate(timeout=60)[0])
    supervisor.join(10)
    assert child.returncode == 0
    assert not any(thread.name == "agentdbg-supervisor" for thread in threading.enumerate()), "it ends with the last"
    outside = world / "outside"
    assert (found["read"], found["write"], found["is_there"], found["pair"]) == ("kept", "done", None, 1)
    refused = set(found) - {"read", "write", "is_there", "pair", "own_signal"}
    assert {name for name in refused if not isinstance(found[name], int)} == set()
    assert sorted(each.name for each in outside.iterdir()) == ["door"]
    assert (world / "view" / "kept").read_text() == "kept", "what was written is in the view alone"
    assert (world / "scratch" / "u" / "kept").read_text() == ""
    assert found["uring"] == errno.ENOSYS
    assert "io_uring_setup" not in {each.call for each in seen}, "event loops try it, and go on without"
    named = {(each.call, each.detail) for each in seen if not each.allowed}
    wanted = {
        ("openat", str(outside / "made")),
        ("creat", str(outside / "made")),
        ("rename", str(outside / "kept")),
        ("connect", f"127.0.0.1:{port}"),
        ("connect", str(outside / "door")),
        ("sendto", f"127.0.0.1:{port}"),
        ("sendmsg", f"127.0.0.1:{port}"),
        ("execve", os.path.realpath("/bin/true")),
        ("kill", f"process {os.getpid()}"),
        ("mount", ""),
    }
    assert {call for call, _ in wanted} <= {call for call, _ in named} | {"creat"}
    assert {detail for _, detail in wanted} <= {detail for _, detail in named}


EXECUTES = """
import os, sys
sys.path.insert(0, sys.argv[1])
from agentdbg.replay.kernel import call_filter, calls
calls.prepare()
fd = int(sys.argv[2])
os.write(fd, b"%d" % call_filter.install(listened=True))
os.read(fd, 1)
try:
    os.execv("/bin/true", ["true"])
except OSError as problem:
    sys.exit(problem.errno)
"""


@pytest.mark.parametrize("killed", [True, False])
def test_of_a_process_that_ends_while_it_asks_nothing_is_told(killed: bool) -> None:
    seen: list[Asked] = []
    with ExitStack() as ends:
        ours, theirs = map(ends.enter_context, socket.socketpair())
        command = [sys.executable, "-c", EXECUTES, str(SRC), str(theirs.fileno())]
        child = subprocess.Popen(command, pass_fds=(theirs.fileno(),))

        def cannot_look(path: str, pid: int) -> bool:
            if killed:
                child.kill()
                child.wait()
            raise ProcessLookupError

        supervisor = Supervisor(take_listener(child.pid, int(ours.recv(16))), [], seen.append, cannot_look)
        supervisor.start()
        ours.sendall(b"g")
        assert child.wait(60) == (-signal.SIGKILL if killed else errno.EPERM)
        child.kill()
        theirs.close()
    supervisor.join(10)
    assert [(each.call, each.detail, each.allowed) for each in seen] == ([] if killed else [("execve", "?", False)])
