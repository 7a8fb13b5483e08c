"""A recorded program gets every signal once, stops and goes on with its launcher, and the launcher ends as it did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentdbg.recording.launch.spawn import CannotRun, find
from tests.support.launching import AGENTDBG
from tests.support.terminal import CTRL_BACKSLASH, CTRL_C, CTRL_Z, Shell

WIDE = pytest.mark.wide
COUNTS = """
import os, signal, sys, time
got = []
def note(number, frame):
    got.append(signal.Signals(number).name)
    print("GOT", got[-1], flush=True)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGCONT, signal.SIGWINCH):
    signal.signal(number, note)
print("READY", os.getpid(), flush=True)
end = time.monotonic() + 20
while "SIGUSR1" not in got and time.monotonic() < end:
    time.sleep(0.02)
print("ALL", *got, flush=True)
sys.exit(5)
"""
WAITS = "import os, time\nprint('READY', os.getpid(), flush=True)\ntime.sleep(30)\n"


@pytest.fixture
def counting(tmp_path: Path) -> Path:
    path = tmp_path / "counts.py"
    path.write_text(COUNTS)
    return path


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    path = tmp_path / "waits.py"
    path.write_text(WAITS)
    return path


@contextmanager
def launched(program: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program under ``record`` in a group of its own, once it runs; and its process id."""
    words = [*AGENTDBG, "record", "--store", str(program.parent / ".store"), "--", sys.executable, str(program)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as it:
        assert it.stdout is not None
        word, pid = it.stdout.readline().split()
        assert word == "READY"
        try:
            yield it, int(pid)
        finally:
            for left in (it.pid, int(pid)):
                try:
                    os.kill(left, signal.SIGKILL)
                except ProcessLookupError:
                    continue


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def until(condition: object, seconds: float = 10) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


def test_signals_to_the_launcher_alone_reach_the_program_once(counting: Path) -> None:
    with launched(counting) as (launcher, _):
        assert launcher.stdout is not None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            launcher.send_signal(number)
            assert launcher.stdout.readline() == f"GOT {number.name}\n"
        assert launcher.stdout.readline() == "ALL SIGINT SIGTERM SIGHUP SIGUSR1\n"
        assert launcher.wait(10) == 5


def test_signals_to_the_whole_group_reach_the_program_once(counting: Path) -> None:
    with launched(counting) as (launcher, _):
        assert launcher.stdout is not None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
            os.killpg(launcher.pid, number)
            assert launcher.stdout.readline() == f"GOT {number.name}\n"
        assert launcher.stdout.readline() == "ALL SIGINT SIGTERM SIGHUP SIGTERM SIGUSR1\n"
        assert launcher.wait(10) == 5
    assert until(lambda: group_is_empty(launcher.pid))


def group_is_empty(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_signals_that_the_program_sends_to_its_group_come_back_to_nobody(tmp_path: Path) -> None:
    program = tmp_path / "group.py"
    to_group = "os.kill(0, signal.SIGTERM); time.sleep(0.2); os.kill(0, signal.SIGUSR1)"
    program.write_text(COUNTS.replace("end = time", f"{to_group}\nend = time"))
    with launched(program) as (launcher, _):
        assert launcher.stdout is not None
        assert launcher.stdout.read() == "GOT SIGTERM\nGOT SIGUSR1\nALL SIGTERM SIGUSR1\n"
        assert launcher.wait(10) == 5


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=WIDE), pytest.param(signal.SIGABRT, marks=WIDE)]
)
def test_the_launcher_dies_of_what_the_program_died_of(waiting: Path, number: signal.Signals) -> None:
    with launched(waiting) as (launcher, pid):
        os.kill(pid, number)
        assert launcher.wait(10) == -number


@pytest.mark.wide
def test_the_program_goes_on_without_its_launcher(counting: Path) -> None:
    with launched(counting) as (launcher, pid):
        assert launcher.stdout is not None
        launcher.kill()
        launcher.wait(10)
        os.kill(pid, signal.SIGUSR1)
        assert launcher.stdout.read() == "GOT SIGUSR1\nALL SIGUSR1\n"
        assert until(lambda: gone(pid))
        assert until(lambda: group_is_empty(launcher.pid))


def test_dispositions_and_mask_are_handed_on(tmp_path: Path) -> None:
    look = (
        "import signal as s; print([s.getsignal(n) for n in (s.SIGHUP, s.SIGINT, s.SIGCHLD)],"
        " s.pthread_sigmask(s.SIG_BLOCK, []))"
    )

    def prepare() -> None:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})

    said = []
    for words in ([], [*AGENTDBG, "record", "--store", str(tmp_path), "--"]):
        done = subprocess.run([*words, sys.executable, "-c", look], preexec_fn=prepare, capture_output=True, check=True)
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].count(b"SIG_IGN") == 3


def test_descriptors_are_handed_on(tmp_path: Path) -> None:
    """An open one that a shell redirects, and closed standard streams."""
    look = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc")
    bare = [sys.executable, "-c", f'"{look}"']
    said = []
    for words in (bare, [*AGENTDBG, "record", "--store", str(tmp_path / "s"), "--", *bare]):
        line = f"exec 7</dev/null; {' '.join(words)} <&- 2>&-"
        done = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
        said.append((done.stdout, done.stderr))
    assert said[0] == said[1]
    assert b"7" in said[0][0]


@pytest.mark.wide
def test_keys_of_a_terminal_act_once_and_jobs_are_controlled(counting: Path) -> None:
    record = " ".join([*AGENTDBG, "record", "--store", str(counting.parent / ".store"), "--", sys.executable])
    shown = []
    for start in (sys.executable, record):
        with Shell(str(counting.parent)) as shell:
            shell.run(f"{start} counts.py", "READY")
            shell.type(CTRL_C)
            shell.read("GOT SIGINT")
            shell.type(CTRL_Z)
            assert "Stopped" in shell.read("\nshell> ")
            assert "Stopped" in shell.run("jobs")
            shell.run("fg", "GOT SIGCONT")
            shell.type(CTRL_Z)
            assert "Stopped" in shell.read("\nshell> ")
            shell.run("bg", "GOT SIGCONT")
            shell.run("kill -USR1 %1", "ALL")
            shown.append(shell.read("\n"))
            shell.run("wait %1; echo status=$?", "status=5")
    assert shown[0] == shown[1]


@pytest.mark.wide
@pytest.mark.parametrize(("key", "status"), [(CTRL_C, 130), (CTRL_BACKSLASH, 131)])
def test_a_key_that_ends_the_program_ends_the_launcher_alike(waiting: Path, key: str, status: int) -> None:
    record = " ".join([*AGENTDBG, "record", "--store", str(waiting.parent / ".store"), "--", sys.executable])
    with Shell(str(waiting.parent)) as shell:
        shell.run(f"{record} waits.py", "READY")
        shell.type(key)
        shell.read("shell> ")
        shell.run("echo status=$?", f"status={status}")


@pytest.mark.wide
def test_a_closed_terminal_ends_both(waiting: Path) -> None:
    record = " ".join([*AGENTDBG, "record", "--store", str(waiting.parent / ".store"), "--", sys.executable])
    with Shell(str(waiting.parent)) as shell:
        shell.run(f"{record} waits.py", "READY")
        pid = int(shell.read("\n").split()[0])
    assert until(lambda: gone(pid))


def test_programs_are_found_as_a_shell_finds_them(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for place, mode in ((first, 0o644), (second, 0o755)):
        place.mkdir()
        (place / "tool").write_text("#!/bin/sh\n")
        (place / "tool").chmod(mode)
    assert find("tool", f"{first}:{second}") == str(second / "tool")
    assert find(str(first / "tool"), "") == str(first / "tool")
    with pytest.raises(CannotRun, match="no program nothing"):
        find("nothing", f"{first}:{second}")
    with pytest.raises(CannotRun, match="directory"):
        find(str(first), "")


def outcome(*words: str | Path) -> str:
    """What ``run`` gives or raises, in a process that it has for itself."""
    code = (
        "import os, sys\nfrom agentdbg.recording.launch.spawn import CannotRun, run\n"
        "try:\n    ended = run(sys.argv[1:], dict(os.environ)); print(ended.status, ended.signal)\n"
        "except CannotRun as problem:\n    print(problem)"
    )
    line = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


def test_a_script_without_a_first_line_is_run_by_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "plain"
    script.write_text("exit 7\n")
    script.chmod(0o755)
    assert outcome(script) == "7 0"


def test_what_cannot_be_executed_is_said(tmp_path: Path) -> None:
    script = tmp_path / "lost"
    script.write_text("#!/no/such/interpreter\n")
    assert "is not executable" in outcome(script)
    script.chmod(0o755)
    assert "the interpreter in its first line is not there" in outcome(script)


def test_the_status_is_the_programs() -> None:
    assert outcome("sh", "-c", "exit 200") == "200 0"
    assert outcome("sh", "-c", "kill -9 $$") == "0 9"
