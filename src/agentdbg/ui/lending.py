"""The terminal lent to another program, an editor or pdb: its keys are its own, and whoever ends us ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from textual.app import App

PATIENCE_S: Final = 2.0
_files: set[str] = set()
_lent = 0


class TakenBack(BaseException):
    """The terminal is wanted back: the debugger was asked to end."""


def take_back() -> None:
    """End what has the terminal; called from a signal handler, does nothing while nobody has it.

    Raises:
        TakenBack: Somebody has it; `lent` takes this in.
    """
    if _lent:
        raise TakenBack


@contextmanager
def lent(app: App[object], *, interrupts: bool = False) -> Iterator[None]:
    """Give the terminal away within; the block ends early when it is taken back.

    Args:
        app: The app, which has it.
        interrupts: Whether ctrl+C interrupts what is done within; else it is left to the other program.

    Raises:
        SuspendNotSupported: There is no terminal to be given away.
    """
    global _lent
    raised: BaseException | None = None
    with app.suspend(), _interrupts(signal.default_int_handler if interrupts else _ignored):
        _lent += 1
        try:
            yield
        except TakenBack:
            pass
        except BaseException as problem:  # the app takes its terminal back from a block that ends as usual alone
            raised = problem
        finally:
            _lent -= 1
    if raised is not None:
        raise raised


def run_lent(app: App[object], command: Sequence[str]) -> int:
    """Run a program on the terminal; returns its exit status, 1 when the terminal was taken back.

    Raises:
        SuspendNotSupported: There is no terminal to be given away.
        OSError: It cannot be started.
    """
    status = 1
    with lent(app), subprocess.Popen(list(command)) as process:
        try:
            status = process.wait()
        except TakenBack:
            _end(process)
            raise
    return status


def lent_file(data: bytes, suffix: str) -> str:
    """Write a value to a new file that only the user can read; returns its path. `forget` removes it."""
    descriptor, path = tempfile.mkstemp(prefix="agentdbg-", suffix=suffix)
    _files.add(path)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return path


def forget(path: str) -> None:
    """Remove a lent file."""
    _files.discard(path)
    with suppress(OSError):
        os.unlink(path)


def forget_all() -> None:
    """Remove what is lent: nobody is there any more to take it back."""
    for path in tuple(_files):
        forget(path)


@contextmanager
def _interrupts(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """What ctrl+C does within: as it is, it would end the debugger. A program that is started has its own way."""
    try:
        before = signal.signal(signal.SIGINT, handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ignored(number: int, frame: FrameType | None) -> None:
    """It is the other program's."""


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
