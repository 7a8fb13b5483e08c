"""The terminal lent to another program: whoever ends the debugger ends it, and nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentdbg.ui import lending


@pytest.fixture
def app() -> Any:
    return SimpleNamespace(suspend=nullcontext)


def asked_to_end(pid_file: Path) -> None:
    """Ask this process to end, once the lent program runs."""

    def ask() -> None:
        while not pid_file.exists() or not pid_file.read_text().strip():
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=ask, daemon=True).start()


@pytest.mark.parametrize("stubborn", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_a_program_is_ended_when_the_terminal_is_taken_back(app: Any, tmp_path: Path, stubborn: bool) -> None:
    note = tmp_path / "pid"
    trap = "trap '' TERM; " if stubborn else ""
    before = signal.signal(signal.SIGTERM, lambda *_: lending.take_back())
    try:
        asked_to_end(note)
        status = lending.run_lent(app, ["sh", "-c", f"{trap}echo $$ > {note}; while :; do sleep 0.1; done"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert status == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_ctrl_c_is_the_other_programs(app: Any) -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupts = "kill -INT $PPID; trap 'exit 7' INT; kill -INT $$"
    assert lending.run_lent(app, ["sh", "-c", interrupts]) == 7
    assert signal.getsignal(signal.SIGINT) is before


def test_a_program_that_cannot_be_started_leaves_the_terminal_to_the_app(app: Any) -> None:
    taken_back = []

    @contextmanager
    def suspend() -> Iterator[None]:
        yield
        taken_back.append(True)  # as Textual has it: only after a block that ends as usual

    app.suspend = suspend
    with pytest.raises(FileNotFoundError):
        lending.run_lent(app, ["/no/such/editor"])
    assert taken_back


def test_while_nobody_has_it_there_is_nothing_to_take_back(app: Any) -> None:
    lending.take_back()
    with pytest.raises(FileNotFoundError):
        lending.run_lent(app, ["/no/such/editor"])
    lending.take_back()


def test_lent_files_are_private_and_forgotten() -> None:
    path = lending.lent_file(b"secret", ".json")
    assert os.stat(path).st_mode & 0o777 == 0o600
    other = lending.lent_file(b"secret", ".txt")
    lending.forget(path)
    lending.forget_all()
    assert not os.path.exists(path) and not os.path.exists(other)
