"""The order of the run list: live runs first, then the newest, replays under their source; and its filter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentdbg.debugging.marks import is_live
from agentdbg.model.records import RunSummary


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the list: a run, and how deep below its source it stands."""

    run: RunSummary
    depth: int = 0


def arrange(runs: Iterable[RunSummary], words: str = "") -> list[RunRow]:
    """The rows to show.

    Args:
        runs: All runs, in any order.
        words: Filter: every word must be found in a run's row.
    """
    kept = [run for run in runs if matches(run, words)]
    kept.sort(key=lambda run: (not is_live(run), -(run.started_at or 0.0)))
    ids = {run.run_id for run in kept}
    below: dict[str, list[RunSummary]] = {}
    for run in kept:
        if run.replay_of in ids and run.replay_of != run.run_id and run.replay_of is not None:
            below.setdefault(run.replay_of, []).append(run)
    under = {run.run_id for replays in below.values() for run in replays}
    rows: list[RunRow] = []
    placed: set[str] = set()
    for run in kept:
        if run.run_id not in under:
            _place(run, below, rows, placed)
    rows.extend(RunRow(run) for run in kept if run.run_id not in placed)
    return rows


def matches(run: RunSummary, words: str) -> bool:
    """Whether every word stands somewhere in the run's row."""
    if not words:
        return True
    hay = run_text(run)
    return all(word in hay for word in words.casefold().split())


def run_text(run: RunSummary) -> str:
    """What the filter sees of a run, in folded case."""
    tags = (f"{key}={value}" for key, value in run.tags.items())
    error = run.error.type if run.error is not None else ""
    parts: Sequence[str] = (
        run.run_id, run.status, run.agent, run.mode, run.replay_of or "", run.thread_id or "", error, run.flag or "",
        "flagged" if run.flag else "", run.verdict or "", *run.models, *tags,
    )  # fmt: skip
    return " ".join(parts).casefold()


def _place(run: RunSummary, below: dict[str, list[RunSummary]], rows: list[RunRow], placed: set[str]) -> None:
    stack = [(run, 0)]
    while stack:
        current, depth = stack.pop()
        if current.run_id in placed:
            continue
        placed.add(current.run_id)
        rows.append(RunRow(current, depth))
        stack.extend((replay, depth + 1) for replay in reversed(below.get(current.run_id, [])))
