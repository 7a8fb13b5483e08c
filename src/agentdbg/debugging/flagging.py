"""Marks runs as bad; what the person types is redacted like everything else that is written."""

from __future__ import annotations

from collections.abc import Sequence

from agentdbg.config.settings import settings
from agentdbg.redaction.gate import Gate
from agentdbg.store.notes import set_flag
from agentdbg.store.protocols import RunStore


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
    written = Gate(enabled=settings().flag("recording.redaction")).text(reason.strip())
    for run_id in run_ids:
        set_flag(store, run_id, written)
    what = run_ids[0] if len(run_ids) == 1 else f"{len(run_ids)} runs"
    return f"{what}: flagged" if written else f"{what}: flag removed"
