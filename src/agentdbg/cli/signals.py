"""What ends a command from outside ends it as ctrl+C does: what it began is ended, what there is of it is kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Take the request to end, and the closing of the terminal, as an interrupt; in the main thread alone."""
    before: list[tuple[int, signal.Handlers | None]] = []

    def interrupt(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # another thread
                signal.signal(number, interrupt)
                before.append((number, signal.SIG_DFL))
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
