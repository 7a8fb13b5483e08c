"""Recorded results that a replay gives back as the builtin type they derive from: told before it, and with its end."""

from __future__ import annotations

from collections.abc import Iterator

from agentdbg.model.records import Step
from agentdbg.recording.revive import BASE_TYPE
from agentdbg.replay.cassette import served_steps
from agentdbg.store.protocols import RunSource


def narrowed_results(source: RunSource) -> Iterator[tuple[Step, str]]:
    """The served steps with such results, each with what is lost: path and class."""
    for step in served_steps(source.steps()):
        for hole in step.holes:
            if hole.startswith(BASE_TYPE):
                yield step, hole


def note_of_narrowed(source: RunSource) -> str | None:
    """One line for people who look for what made a difference; ``None`` where nothing was narrowed."""
    found = [
        f"step {step.n}, {step.name}: {hole.removeprefix(BASE_TYPE + ': ')}" for step, hole in narrowed_results(source)
    ]
    if not found:
        return None
    more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
    return f"results of classes that cannot be made again were given back as their builtin types ({found[0]}{more})"
