"""Time limits that programs set by signals are kept, wherever in the recorder they strike."""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from agentdbg.recording.interrupts import is_from_handler, let_through
from tests.support.launching import record


class TooLong(Exception):
    """What the handlers below raise."""


def _plain(number: int, frame: FrameType | None) -> None:
    raise TooLong


class _Limits:
    def method(self, number: int, frame: FrameType | None) -> None:
        raise TooLong

    def __call__(self, number: int, frame: FrameType | None) -> None:
        raise TooLong


@pytest.fixture
def signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(
    "handler", [_plain, _Limits().method, _Limits(), functools.partial(_plain), lambda *_: _plain(0, None)]
)
def test_what_a_handler_raised_is_let_through(signals: None, handler: Callable[..., None]) -> None:
    signal.signal(signal.SIGUSR1, handler)
    try:
        signal.raise_signal(signal.SIGUSR1)
    except TooLong as error:
        assert is_from_handler(error)
        with pytest.raises(TooLong):
            let_through(error)


def test_other_errors_are_not(signals: None) -> None:
    signal.signal(signal.SIGUSR1, _plain)
    try:
        int("x")
    except ValueError as error:
        assert not is_from_handler(error)
        let_through(error)


PROGRAM = """
import signal, sys
class TooLong(Exception): pass
raised = caught = calls = 0
def limit(number, frame):
    global raised
    if "/agentdbg/" in frame.f_code.co_filename:  # so that it is inside of what is tried below
        raised += 1
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        raise TooLong
    signal.setitimer(signal.ITIMER_REAL, 0.0005)
def tool(number): return {"n": number}
tool(0)  # importing takes up its own locks by callbacks, out of which nothing is raised
open("file", "w").close()
signal.signal(signal.SIGALRM, limit)
signal.setitimer(signal.ITIMER_REAL, 0.003)
while calls < 1500:
    calls += 1
    try:
        tool(calls)
        open("file", "w").close()
    except TooLong as error:
        while error is not None:  # one may strike while another is on its way
            caught += isinstance(error, TooLong)
            error = error.__context__
signal.setitimer(signal.ITIMER_REAL, 0)
print(caught == raised, raised > 5 or raised)
"""


def test_a_time_limit_that_strikes_inside_the_recorder_reaches_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = record([sys.executable, "program.py"], tmp_path, "--tool", "tool=read")
    assert (done.status, done.stdout) == (0, b"True True\n"), done
    assert b"degraded" not in done.stderr
