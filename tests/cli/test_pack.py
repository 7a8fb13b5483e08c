"""A run as one file, or down a pipe into the debugger."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.program import agentdbg, document
from tests.support.run_records import RunRecords
from tests.support.secret_samples import secrets

PROGRAM = f"{shlex.quote(sys.executable)} -m agentdbg.cli.main"


def test_a_pack_is_a_private_file_that_opens_as_the_run(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.pack"
    found = document("pack", "refund-7", "-o", path, "--store", store)
    assert (found["run_id"], found["path"], found["skeleton"], found["files"]) == ("refund-7", str(path), False, 3)
    assert path.stat().st_mode & 0o777 == 0o600
    packed, recorded = document("show", path), document("show", "refund-7", "--store", store)
    assert packed["steps"] == recorded["steps"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.pack"]


def test_what_is_there_is_not_written_over(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.pack"
    path.write_text("mine")
    done = agentdbg("pack", "refund-7", "-o", path, "--store", store)
    assert (done.returncode, done.stderr) == (2, f"agentdbg: {path} is there already: name a new file\n")
    assert path.read_text() == "mine"


def test_a_foreign_run_is_not_packed(store: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"role": "user", "content": "Go."}]')
    done = agentdbg("pack", tmp_path / "x.json", "-o", tmp_path / "r.pack", "--store", store)
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "r.pack").exists()


def test_secrets_are_refused_unless_asked_for(tmp_path: Path) -> None:
    records = RunRecords(tmp_path / "store", "r-1")
    records.tool("login", {"api_key": secrets()["openai"]})
    records.end()
    pack = ("pack", "r-1", "--store", tmp_path / "store", "-o")
    done = agentdbg(*pack, tmp_path / "a.pack")
    assert done.returncode == 3
    assert "--skeleton leaves the bodies out, --with-secrets packs it as it is" in done.stderr
    assert not (tmp_path / "a.pack").exists()
    assert agentdbg(*pack, tmp_path / "b.pack", "--with-secrets").returncode == 0
    assert agentdbg(*pack, tmp_path / "c.pack", "--skeleton").returncode == 0


def test_the_document_and_the_pack_do_not_share_stdout(store: Path) -> None:
    done = agentdbg("pack", "refund-7", "-o", "-", "--json", "--store", store)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_pack_goes_down_a_pipe_into_another_command(store: Path) -> None:
    line = f"{PROGRAM} pack refund-7 -o - --store {shlex.quote(str(store))} | {PROGRAM} show - --brief"
    done = subprocess.run(["sh", "-c", line], capture_output=True, encoding="utf-8", check=True, timeout=60)
    assert done.stdout.startswith("run           refund-7\n")
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
def test_a_pack_from_a_pipe_opens_in_the_debugger_and_keys_come_from_the_terminal(store: Path) -> None:
    line = f"{PROGRAM} pack refund-7 -o - --store {shlex.quote(str(store))} | {PROGRAM} -"
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="80", LINES="24")
        os.execvp("sh", ["sh", "-c", line])
    try:
        _read_until(terminal, b"notify")
        os.write(terminal, b"q")
        assert _status(pid, terminal) == 0
    finally:
        os.close(terminal)


def _read_until(terminal: int, text: bytes, seconds: float = 30) -> None:
    seen = b""
    deadline = time.monotonic() + seconds
    while text not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert ready, seen[-2000:]
        seen += os.read(terminal, 65536)


def _status(pid: int, terminal: int, seconds: float = 30) -> int:
    """The exit status, once the program has said all."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                break
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
    else:
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
