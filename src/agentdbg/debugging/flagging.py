"""Marks runs as bad; what the person types is redacted like everything else that is written."""

from __future__ import annotations

from collections.abc import Sequence

from agentdbg.config.settings import settings
from agentdbg.redaction.gate import Gate
from agentdbg.store.notes import set_flag, set_flag_of
from agentdbg.store.protocols import RunSource, RunStore


def flag_runs(store: RunStore, run_ids: Sequence[str], reason: str) -> str:
    """Flag runs, or with an empty reason take their flags away.

    Args:
        store: Where the runs are.
        run_ids: The runs.
        reason: Why, in the user's words.

    Returns:
        What was done, in words.

    Raises:
        KeyError: A run is not there.
        OSError: A note cannot be written.
        ValueError: The store cannot take the note.
    """
    written = _written(reason)
    for run_id in run_ids:
        set_flag(store, run_id, written)
    return _done(run_ids[0] if len(run_ids) == 1 else f"{len(run_ids)} runs", written)


def flag_open_run(source: RunSource, store: RunStore, reason: str) -> str:
    """Flag the run that is open: of a pack or a foreign file the note is kept apart, whatever runs the store has.

    Args:
        source: The run.
        store: Where it is, unless it lies elsewhere.
        reason: Why, in the user's words; empty to take the flag away.

    Returns:
        What was done, in words.

    Raises:
        KeyError: The run is not there.
        OSError: A note cannot be written.
        ValueError: The store cannot take the note.
    """
    if getattr(source, "notes_location", None) is None:
        return flag_runs(store, [source.summary().run_id], reason)
    written = _written(reason)
    set_flag_of(source, store, written)
    return _done(source.summary().run_id, written)


def _written(reason: str) -> str:
    return Gate(enabled=settings().flag("recording.redaction")).text(reason.strip())


def _done(what: str, written: str) -> str:
    return f"{what}: flagged" if written else f"{what}: flag removed"
