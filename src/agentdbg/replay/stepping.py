"""``pdb`` in a program that is held: looks, evaluates, and goes on line by line in the thread that is held.

It stops in the program's own code alone, and in its own thread. What a person types runs under the guard, as that
person's doing (`agentdbg.replay.by_hand`); what the program does between two lines is its own.
"""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Callable, Sequence
from pdb import Pdb
from types import FrameType
from typing import Any

from agentdbg.recording.frames import rank_of
from agentdbg.replay.by_hand import at_hand

LONGEST_SAYING = 64 * 1024
_MOVES = ("c", "cont", "continue", "n", "next", "s", "step", "r", "return", "unt", "until")
_ENDS = ("q", "quit", "exit", "EOF")
_NOT_HERE = ("run", "restart", "interact", "debug", "commands")
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_ON = ("c", "cont", "continue")


class Stepper(Pdb):
    """One thread's pdb. ``stand`` is called there when it stops at a line, and returns when it is to go on."""

    def __init__(self, frames: Sequence[FrameType], stand: Callable[[Stepper], None]) -> None:
        """Stand in the innermost frame of the program's own code.

        Args:
            frames: The held stack, innermost first.
            stand: Serves what a person types until something moves the program on.
        """
        self._out = io.StringIO()
        super().__init__(stdin=io.StringIO(), stdout=self._out, nosigint=True, readrc=False)
        self.use_rawinput = False
        self._stand = stand
        self.at(frames)

    def at(self, frames: Sequence[FrameType]) -> None:
        """Stand in the innermost frame of the program's own code among some."""
        self._frames = [frame for frame in frames if rank_of(frame.f_code.co_filename) == 0] or list(frames)[:1]
        breaks = self.breaks
        self.reset()
        self.breaks = breaks
        self.botframe = self._frames[-1]
        self.setup(self._frames[0], None)

    def said(self) -> str:
        """What was printed since."""
        text = self._out.getvalue()[:LONGEST_SAYING]
        self._out.seek(0)
        self._out.truncate()
        return text

    def do(self, line: str) -> tuple[str, bool]:
        """One command; returns what it says, and whether it moves the program on."""
        word = (line.strip().split(maxsplit=1) or [""])[0]
        if word in _ENDS:
            return f"{word}: the replay stays where it is; its own keys go on (n, c) or stop it (x)\n", False
        if word in _NOT_HERE:
            return f"{word}: not in a replay\n", False
        if word in _MOVES and self._is_own(word):
            moved = bool(self.onecmd(line.strip()))
            if moved:
                self._go(traced=word not in _ON or bool(self.breaks))
            return self.said(), moved
        self._look(line.strip() or "where")
        return self.said(), False

    def leave(self) -> None:
        """Go on without pdb."""
        self.clear_all_breaks()
        self.set_continue()

    # -- what bdb asks ----------------------------------------------------------------------------

    def interaction(self, frame: FrameType, traceback: Any = None) -> None:  # type: ignore[override]  # 3.13 renames it
        """The program has come to a line where it is to stop."""
        self.setup(frame, traceback)
        self.print_stack_entry(self.stack[self.curindex])
        try:
            self._stand(self)
        finally:
            self.forget()

    def get_stack(self, f: FrameType | None, t: Any) -> tuple[list[tuple[FrameType, int]], int]:
        """The program's stack, without the frames that record and replay it."""
        stack, at = super().get_stack(f, t)
        current = stack[at][0] if stack else None
        kept = [each for each in stack if each[0] is current or rank_of(each[0].f_code.co_filename) < 3]
        return kept, next((i for i, each in enumerate(kept) if each[0] is current), 0)

    def user_exception(self, frame: FrameType, exc_info: Any) -> None:
        """An exception passes; one that only says that an await or a generator is over is none to stop at."""
        if exc_info[0] not in (StopIteration, StopAsyncIteration) or not frame.f_code.co_flags & _RESUMED:
            super().user_exception(frame, exc_info)

    def stop_here(self, frame: FrameType) -> bool:
        """Libraries are stepped over."""
        file = frame.f_code.co_filename
        return rank_of(file) == 0 and not file.startswith("<") and bool(super().stop_here(frame))

    # -- inside -----------------------------------------------------------------------------------

    def _is_own(self, word: str) -> bool:
        """Whether a word is pdb's command and no variable of the program's that is asked for: as pdb itself decides."""
        return hasattr(self, f"do_{word}")

    def _look(self, line: str) -> None:
        frame = self.curframe
        before = self._current_locals()
        with at_hand():
            self.onecmd(line)
        if sys.version_info < (3, 13) and frame is self.curframe and frame is not None and before is not None:
            now = self.curframe_locals
            if now.keys() != before.keys() or any(now[name] is not before[name] for name in now):
                _write_back(frame)

    def _current_locals(self) -> dict[str, Any] | None:
        """The variables as they are now; other tasks may have changed them since."""
        frame = self.curframe
        if sys.version_info >= (3, 13) or frame is None:
            return None
        self.curframe_locals = frame.f_locals
        return dict(self.curframe_locals)

    def _go(self, *, traced: bool) -> None:
        """Trace from here on, in this thread."""
        if not traced:
            return
        for frame in self._frames:
            frame.f_trace = self.trace_dispatch
        sys.settrace(self.trace_dispatch)


def _write_back(frame: FrameType) -> None:
    """Put assigned variables into a frame that is not being traced at this moment."""
    import ctypes

    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
