"""What a run is of another one, in words."""

from __future__ import annotations

from agentdbg.model.records import RunSummary


def edit_count(run: RunSummary) -> int:
    """How many recorded values a replay went on without: others were put in their place."""
    edits = run.meta.get("edits")
    return len(edits) if isinstance(edits, list) else 0


def mode_words(run: RunSummary) -> str:
    """How a run came about: ``recorded``, or a replay of which run; and that it was edited."""
    words = f"{run.mode} of {run.replay_of}" if run.replay_of else str(run.mode)
    return f"{words}, EDITED" if edit_count(run) else words
