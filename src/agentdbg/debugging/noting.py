"""Notes that people write on steps; redacted like everything else that is written, and kept beside the record."""

from __future__ import annotations

from pathlib import Path

from agentdbg.config.settings import settings
from agentdbg.redaction.gate import Gate
from agentdbg.store import notes
from agentdbg.store.protocols import RunSource, RunStore

_EVENT = "note"


def write_note(store: RunStore, source: RunSource, step_id: str, text: str) -> str:
    """Add a note to a step; returns it as it was written.

    Raises:
        OSError: It cannot be written.
        ValueError: The place for notes cannot take it.
    """
    written = Gate(enabled=settings().flag("recording.redaction")).text(text.strip())
    location, run_id = _location(store, source), source.summary().run_id
    directory = _directory(store, source)
    notes.append(location, run_id, directory, {"e": _EVENT, "step": step_id, "text": written})
    return written


def read_notes(store: RunStore, source: RunSource) -> dict[str, tuple[str, ...]]:
    """The notes on a run's steps, oldest first, by step id."""
    run_id = source.summary().run_id
    directory = _directory(store, source)
    found: dict[str, tuple[str, ...]] = {}
    for note in notes.read(_location(store, source), run_id, directory):
        step_id, text = note.get("step"), note.get("text")
        if note.get("e") == _EVENT and isinstance(step_id, str) and isinstance(text, str):
            found[step_id] = (*found.get(step_id, ()), text)
    return found


def _location(store: RunStore, source: RunSource) -> str:
    """Where notes on this run belong: a run outside every store has a place of its own."""
    return str(getattr(source, "notes_location", None) or store.location())


def _directory(store: RunStore, source: RunSource) -> Path | None:
    """The run's own directory, where it lies in the store."""
    if hasattr(source, "notes_location") or not isinstance(store, notes.HoldsDirectories):
        return None
    return store.run_directory(source.summary().run_id)
