"""What a launched program reads from its standard input, kept with its first run so that a replay can give it again.

``sys.stdin`` stays what it is to the program: the same descriptor, encoding and buffering, with a raw end that notes
what passes. Lines that ``input()`` takes from a terminal come by an audit event. What child processes read is not seen.
"""

from __future__ import annotations

import io
import os
import sys

from agentdbg.recording import launched

TYPE_CHECKING = False  # as typing has it: importing typing takes longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from agentdbg.recording.run import RunRecording

MOST = 16 * 1024 * 1024
"""Bytes that are kept; more is said to be missing."""


class _Noted(io.RawIOBase):
    """The raw end of standard input."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def readinto(self, buffer: Any) -> int | None:
        """Read, and note what came."""
        count: int | None = self._raw.readinto(buffer)
        if count:
            state.took(bytes(memoryview(buffer)[:count]))
        return count

    def readable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor that is read."""
        number: int = self._raw.fileno()
        return number

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return bool(self._raw.isatty())

    def close(self) -> None:
        """Close the descriptor too."""
        super().close()
        self._raw.close()

    @property
    def name(self) -> object:
        """As the program knows it."""
        return self._raw.name

    @property
    def mode(self) -> str:
        """As the program knows it."""
        return "rb"


class _State:
    """What was read and stands in no run yet, and the run that it belongs to."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.kept = 0
        self.run: RunRecording | None = None
        self.on = False

    def took(self, data: bytes) -> None:
        """Keep what was read; never raises into the read."""
        if not self.on or self.kept > MOST:
            return
        self.kept += len(data)
        self.waiting.append(data)
        run = self.run
        if run is not None:
            run.recorder.guard(lambda: self._write(run), None)

    def belongs_to(self, run: RunRecording) -> None:
        """The program's first run has begun."""
        if self.on and self.run is None:
            self.run = run
            run.recorder.guard(lambda: self._write(run), None)

    def _write(self, run: RunRecording) -> None:
        waiting, self.waiting = b"".join(self.waiting), []
        if run.facts.ended_at is not None or not waiting:
            return
        kept = run.gate.body(waiting)
        members: dict[str, object] = {"body": run.body(kept), "terminal": _is_terminal()}
        if kept is not waiting and kept != waiting:
            members["redacted"] = True
        run.event(run.scope(), "stdin", members)
        if self.kept > MOST:
            run.event(run.scope(), "hole", {"of": None, "what": f"standard input is kept up to {MOST:,} bytes"})


state = _State()


def install() -> None:
    """Note what the launched program itself reads. Nothing where it is read from there, or has no input."""
    stream = sys.stdin
    own = launched.active and launched.main_pid == os.getpid()
    if state.on or not own or launched.parsed(sys.orig_argv[1:]).kind in ("none", "stdin"):
        return
    if type(stream) is not io.TextIOWrapper or type(stream.buffer) is not io.BufferedReader:
        return
    raw = stream.buffer.raw
    if not isinstance(raw, io.FileIO):
        return
    state.on = True
    if _is_terminal():
        sys.addaudithook(_hook())
        return
    made = io.TextIOWrapper(
        io.BufferedReader(_Noted(raw)),
        encoding=stream.encoding,
        errors=stream.errors,
        newline=None,
        line_buffering=stream.line_buffering,
    )
    made.mode = "r"  # type: ignore[misc]  # as the interpreter sets it
    sys.stdin = sys.__stdin__ = made  # type: ignore[misc]  # the interpreter's own is kept alive by this one's raw end
    _held.append(stream)


_held: list[object] = []


def _hook() -> Any:
    took = state.took

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event == "builtins.input/result" and args and isinstance(args[0], str):
            took(args[0].encode("utf-8", "surrogateescape") + b"\n")

    return hook


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False
