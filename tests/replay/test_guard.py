"""What an exact replay's child tries to do outside is stopped, named, and does not happen."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import guard_attempts

PROGRAM = Path(guard_attempts.__file__)
HARMLESS = {name for name in guard_attempts.ATTEMPTS if name.startswith("ok_")}
# exec would end the control run, the victim dies once only, and some builds of SQLite read every name as a URI.
NO_CONTROL = {"os_exec", "kill_by_pidfd", "sqlite_not_a_uri"}
DENIED = sorted(set(guard_attempts.ATTEMPTS) - HARMLESS)
# Where C code or a task group stands in between, the refusal arrives as something else; the report has it all the same.
OTHER_ERROR = {
    "sqlite_attach": "DatabaseError",
    "sqlite_vacuum_into": "DatabaseError",
    "httpx2_async_get": "BaseExceptionGroup",
}
EVENTS = {
    "raw_socket": "socket.connect",
    "by_name": "socket.connect",
    "asyncio_by_name": "socket.connect",
    "host_lookup": "socket.gethostbyname",
    "urllib_get": "socket.connect",
    "httpx_get": "socket.connect",
    "httpx2_async_get": "socket.connect",
    "asyncio_streams": "socket.connect",
    "unix_socket": "socket.connect",
    "udp_sendto": "socket.sendto",
    "udp_sendmsg": "socket.sendmsg",
    "bind": "socket.bind",
    "ctypes_connect": "ctypes.dlsym",
    "subprocess_run": "subprocess.Popen",
    "asyncio_subprocess": "subprocess.Popen",
    "os_system": "os.system",
    "os_spawnv": "os.fork",
    "os_exec": "os.exec",
    "multiprocessing_spawn": "_posixsubprocess.fork_exec",
    "multiprocessing_fork": "os.fork",
    "subinterpreter": "interpreters.create",
    "open_write": "open",
    "through_link_inside": "open",
    "hard_link_in": "os.link",
    "mkfifo": "os.mkfifo",
    "copy_file": "shutil.copyfile",
    "sqlite_file": "sqlite3.connect",
    "sqlite_attach": "sqlite3.attach",
    "sqlite_vacuum_into": "sqlite3.attach",
}


@dataclass
class World:
    """The outside: servers that count, files that must stay."""

    folder: Path
    hits: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outside, self.scratch = self.folder / "outside", self.folder / "scratch"
        for path in (self.outside / "empty", self.outside / "tree" / "leaf", self.scratch):
            path.mkdir(parents=True)
        (self.outside / "precious.txt").write_text("precious")
        for name in guard_attempts.ATTEMPTS:
            (self.outside / f"own_{name}.txt").write_text("own")
        (self.scratch / "ro.db").write_bytes(b"")
        (self.scratch / "way_out").symlink_to(self.outside)
        self.tcp, self.unix = socket.socket(), socket.socket(socket.AF_UNIX)
        self.tcp.bind(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(self.tcp.getsockname())
        self.unix.bind(str(self.folder / "u"))
        for listener in (self.tcp, self.unix):
            listener.listen(50)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        self.victim = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.hits.append("connection")
            with connection:
                connection.settimeout(5)
                try:
                    if connection.recv(4096).startswith(b"GET"):
                        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
                except OSError:
                    continue

    def datagrams(self) -> int:
        """How many arrived since the last question."""
        self.udp.setblocking(False)
        count = 0
        while True:
            try:
                self.udp.recv(100)
            except BlockingIOError:
                return count
            count += 1

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Everything outside: mode, time and content by name."""
        found = {}
        for path in sorted(self.outside.rglob("*")):
            info = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(self.outside))] = (info.st_mode, info.st_mtime_ns, content)
        return found

    def run(self, *, armed: bool, names: list[str] | None = None, tolerate: tuple[str, ...] = ()) -> list[dict]:
        """Run the program and return what it printed about each attempt."""
        world = {
            "port": self.tcp.getsockname()[1],
            "unix": str(self.folder / "u"),
            "outside": str(self.outside),
            "scratch": str(self.scratch),
            "victim": self.victim.pid,
        }
        options = {"armed": armed, "names": names, "tolerate": tolerate}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(PROGRAM), json.dumps(world), json.dumps(options)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.scratch,
            env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[2]), "TMPDIR": str(self.scratch)},
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]

    def close(self) -> None:
        for listener in (self.tcp, self.unix):
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.udp.close()
        self.victim.kill()
        self.victim.communicate()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@dataclass
class Outcome:
    attempts: dict[str, dict]
    before: dict
    after: dict
    hits: int
    datagrams: int
    victim_lives: bool


def run_all(folder: Path, *, armed: bool, names: list[str] | None = None) -> Outcome:
    world = World(folder)
    try:
        before = world.state()
        attempts = {one["name"]: one for one in world.run(armed=armed, names=names)}
        victim_lives = world.victim.poll() is None
        return Outcome(attempts, before, world.state(), len(world.hits), world.datagrams(), victim_lives)
    finally:
        world.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run_all(tmp_path_factory.mktemp("guarded"), armed=True)


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    names = [name for name in guard_attempts.ATTEMPTS if name not in NO_CONTROL]
    return run_all(tmp_path_factory.mktemp("unguarded"), armed=False, names=names)


@pytest.mark.parametrize("name", DENIED)
def test_an_effect_is_refused_and_named_with_the_users_frame(guarded: Outcome, name: str) -> None:
    one = guarded.attempts[name]
    assert one["raised"] == OTHER_ERROR.get(name, "Refused")
    first = one["violations"][0]
    assert first["event"] == EVENTS.get(name, first["event"])
    assert first["step"] == "w1:7"
    assert not first["tolerated"]
    assert str(PROGRAM) in first["frame"]


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_a_harmless_call_passes(guarded: Outcome, name: str) -> None:
    assert guarded.attempts[name] == {"name": name, "raised": "", "violations": []}


def test_nothing_happened_outside(guarded: Outcome) -> None:
    assert set(guarded.attempts) == set(guard_attempts.ATTEMPTS)
    assert guarded.after == guarded.before
    assert (guarded.hits, guarded.datagrams, guarded.victim_lives) == (0, 0, True)


def test_without_the_guard_every_attempt_is_real(unguarded: Outcome) -> None:
    failed = {name: one["raised"] for name, one in unguarded.attempts.items() if one["raised"]}
    assert failed == {}
    assert unguarded.hits >= 11
    assert unguarded.datagrams == 2
    assert not unguarded.victim_lives
    gone = set(unguarded.before) - set(unguarded.after)
    assert gone >= {"empty", "tree", "own_remove.txt", "own_remove_dir_fd.txt", "own_rename.txt"}
    made = set(unguarded.after) - set(unguarded.before)
    writers = {name for name in DENIED if any(entry.startswith(name) for entry in made)}
    assert len(writers) >= 20
    changed = {name for name in unguarded.before if unguarded.before[name] != unguarded.after.get(name)}
    assert changed >= {
        "own_chmod.txt",
        "own_utime.txt",
        "own_hard_link_in.txt",
        "own_truncate.txt",
        "own_open_update.txt",
    }


def test_the_detail_says_what_was_reached_for(guarded: Outcome) -> None:
    def detail(name: str) -> str:
        return str(guarded.attempts[name]["violations"][0]["detail"])

    assert detail("raw_socket").startswith("127.0.0.1:")
    assert detail("host_lookup") == "nowhere.invalid"
    assert detail("unix_socket").endswith("/u")
    assert detail("subprocess_run").startswith("/bin/sh -c : > ")
    assert detail("rename").endswith("outside/renamed")
    assert " -> " in detail("rename")
    assert detail("through_link_inside").endswith("outside/through_link_inside")
    assert "from multiprocessing" in detail("multiprocessing_spawn")


def test_a_tolerated_effect_is_stopped_as_a_permission_error_and_listed(world: World) -> None:
    port = world.tcp.getsockname()[1]
    tolerate = (f"socket.connect *:{port}", "subprocess.Popen /bin/sh*", "os.fork")
    names = ["raw_socket", "by_name", "subprocess_run", "os_fork", "open_write"]
    found = {one["name"]: one for one in world.run(armed=True, names=names, tolerate=tolerate)}
    for name in names[:-1]:
        assert found[name]["raised"] == "PermissionError"
        assert all(violation["tolerated"] for violation in found[name]["violations"])
    assert found["open_write"]["raised"] == "Refused"
    assert world.hits == []


INLINE = """
import atexit, os, sys
from agentdbg.replay.guard import Guard, Refused
outside, scratch = sys.argv[1:]
def report(violation):
    print(violation.event, os.path.basename(violation.detail), violation.step, flush=True)
"""


def run_inline(world: World, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", INLINE + program, str(world.outside), str(world.scratch)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_holds_while_the_interpreter_shuts_down(world: World) -> None:
    done = run_inline(
        world,
        """
guard = Guard([scratch], [], lambda: None, report)
guard.arm()
def late():
    open(scratch + "/fine", "w").close()
    open(outside + "/late", "w")
class Last:
    def __del__(self, open=open, remove=os.remove, refused=Refused):
        try:
            remove(outside_path)
        except BaseException as problem:
            print(type(problem).__name__, flush=True)
        remove(fine_path)
outside_path, fine_path = outside + "/precious.txt", scratch + "/fine"
sys.modules["kept"] = [Last()]
atexit.register(late)
del guard
""",
    )
    assert done.stdout.splitlines() == ["open late None", "os.remove precious.txt None", "Refused"]
    assert (world.outside / "precious.txt").exists()
    assert not (world.outside / "late").exists()
    assert not (world.scratch / "fine").exists()


def test_a_report_or_a_step_that_fails_does_not_let_the_effect_through(world: World) -> None:
    done = run_inline(
        world,
        """
def fail(*args):
    raise ValueError("broken")
guard = Guard([scratch], [], fail, fail)
guard.arm()
try:
    open(outside + "/new", "w")
except Refused as refused:
    print(refused.violation.event, refused.violation.step, type(refused.__cause__).__name__, len(guard.violations))
""",
    )
    assert done.stdout == "open None ValueError 1\n"
    assert not (world.outside / "new").exists()


def test_a_report_may_write_and_is_called_before_the_error(world: World) -> None:
    done = run_inline(
        world,
        """
def write(violation):
    open(outside + "/report", "a").close()
    print("reported")
guard = Guard([scratch], [], lambda: None, write)
guard.arm()
try:
    os.mkdir(outside + "/new")
except Refused:
    print("refused")
try:
    os.mkdir(outside + "/new")
except Exception:
    print("swallowed")
except BaseException:
    print("not an Exception")
""",
    )
    assert done.stdout.split("\n")[:4] == ["reported", "refused", "reported", "not an Exception"]
    assert (world.outside / "report").exists()


def test_it_does_nothing_before_it_is_armed_and_after_it_is_disarmed(world: World) -> None:
    done = run_inline(
        world,
        """
import signal, sqlite3
plain = (os.open, os.mkfifo, sqlite3.connect, sys.dont_write_bytecode)
guard = Guard([scratch], [], lambda: None, report)
guard.install()
guard.install()
open(outside + "/before", "w").close()
guard.arm()
guard.arm()
assert os.open is not plain[0] and os.open in os.supports_dir_fd
guard.disarm()
assert (os.open, os.mkfifo, sqlite3.connect, sys.dont_write_bytecode) == plain
open(outside + "/after", "w").close()
print(guard.violations)
""",
    )
    assert done.stdout == "()\n", done.stderr
    assert (world.outside / "before").exists()
    assert (world.outside / "after").exists()


def test_an_audit_hook_that_keeps_others_out_is_an_error(world: World) -> None:
    done = run_inline(
        world,
        """
def keep_out(event, args):
    if event == "sys.addaudithook":
        raise RuntimeError
sys.addaudithook(keep_out)
try:
    Guard([scratch], [], lambda: None, report).install()
except RuntimeError as problem:
    print(problem)
""",
    )
    assert "could not be installed" in done.stdout


def test_many_threads_lose_no_violation(world: World) -> None:
    done = run_inline(
        world,
        """
import threading
guard = Guard([scratch], [], lambda: threading.current_thread().name, lambda violation: None)
guard.arm()
def work():
    for n in range(100):
        try:
            open(f"{outside}/{n}", "w")
        except Refused:
            continue
threads = [threading.Thread(target=work, name=f"t{n}") for n in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
names = [v.step for v in guard.violations]
print(sorted({(name, names.count(name)) for name in names}))
""",
    )
    assert done.stdout.strip() == str([(f"t{n}", 100) for n in range(8)])


def test_it_loads_only_small_modules_of_the_standard_library() -> None:
    probe = (
        "import sys, agentdbg.replay.guard; print({'asyncio', 'subprocess', 'socket', 'sqlite3'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
