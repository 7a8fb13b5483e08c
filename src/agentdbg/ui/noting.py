"""Reads and writes the notes on a screen's steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.debugging.document import Tone

if TYPE_CHECKING:
    from agentdbg.ui.screens.debugger import DebuggerScreen


class StepNotes:
    """The notes of the run that a screen shows."""

    def __init__(self, screen: DebuggerScreen) -> None:
        """Know of none yet."""
        self._screen = screen

    def read(self) -> None:
        """Read what was written earlier; what cannot be read is as if it were not there."""
        from agentdbg.debugging.noting import read_notes

        screen = self._screen
        try:
            screen.session.notes = read_notes(screen.debugger.store, screen.session.source)
        except (KeyError, OSError, ValueError) as problem:
            screen.say(f"notes cannot be read: {problem}", Tone.WARN)
        if screen.session.notes:
            screen.present_news(keep_place=True)

    def write(self, text: str) -> tuple[str, Tone]:
        """Add a note to the selected step; what became of it, and how to say it."""
        from agentdbg.debugging.noting import write_note

        screen = self._screen
        step = screen.session.current
        if step is None:
            return "no step to write on", Tone.WARN
        try:
            written = write_note(screen.debugger.store, screen.session.source, step.id, text)
        except (KeyError, OSError, ValueError) as problem:
            return f"cannot write the note: {problem}", Tone.WARN
        screen.session.notes[step.id] = (*screen.session.notes.get(step.id, ()), written)
        return f"note on step {step.n}", Tone.OK
