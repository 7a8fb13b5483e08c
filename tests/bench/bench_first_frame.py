"""``agentdbg RUN`` on a run of 100,000 steps, from the start of the process to its first steps on a real terminal.

The peer is an empty Textual app, started in turns with it and timed until its text is there.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.bench_open import STEPS, big_run
from tests.bench.empty_app import TEXT
from tests.bench.table import Row, clock, in_turns
from tests.bench.worker import ROOT, environment
from tests.support.records import START, WRITER, body_record, run_json, write_private

LONGEST_S = 60
_ESCAPES = re.compile(rb"\x1b\[[0-9;:?<>=]*[ -/]*[@-~]")


def rows(folder: Path, quick: bool) -> Iterator[Row]:
    """Open the big run, a run of three steps, and the empty app in turns."""
    environ = environment(folder, TERM="xterm-256color", COLORTERM="truecolor")
    _finished(folder / "store", STEPS)
    _finished(folder / "small", 4)
    opened = [sys.executable, "-m", "agentdbg.cli.main", "big"]
    empty = [sys.executable, "-m", "tests.bench.empty_app"]
    small = {**environ, "AGENTDBG_STORE": str(folder / "small")}
    for command, told in ((opened, small), (empty, environ)):
        first_frame(command, told, _marker(command))  # writes the byte code
    big, tiny, app = in_turns(
        3 if quick else 15,
        lambda: first_frame(opened, environ, b"look_up"),
        lambda: first_frame(opened, small, b"look_up"),
        lambda: first_frame(empty, environ, TEXT.encode()),
    )
    yield Row(f"agentdbg RUN to first frame, {STEPS:,} steps", big, "ms", None, app, "empty Textual app", 1.5)
    yield Row("  … a run of 4 steps", tiny, "ms", None, app, "empty Textual app")


def _finished(store: Path, steps: int) -> None:
    """The run of the other benchmark with the counts and the body that a recorder leaves."""
    root = big_run(store, steps)
    write_private(root / "run.json", json.dumps(run_json("big", steps=steps, ended_at=START + steps)).encode())
    write_private(root / "bodies" / f"{WRITER}.jsonl", body_record(b"x" * 2000))


def _marker(command: list[str]) -> bytes:
    return TEXT.encode() if command[-1].endswith("empty_app") else b"look_up"


def first_frame(command: list[str], environ: Mapping[str, str], marker: bytes) -> float:
    """Milliseconds from the start of a program until ``marker`` is among what it wrote on its terminal.

    Raises:
        RuntimeError: It is not there after a minute, or the program ended before.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    began = clock()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=dict(environ),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    try:
        while marker not in _ESCAPES.sub(b"", seen):
            ready, _, _ = select.select([ours], [], [], max(0.0, began + LONGEST_S - clock()))
            if not ready:
                raise RuntimeError(f"{command}: no {marker!r} on the terminal: {seen[-2000:]!r}")
            try:
                seen += os.read(ours, 65536)
            except OSError:
                raise RuntimeError(f"{command} ended: {seen[-2000:]!r}") from None
        return (clock() - began) * 1000
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)
