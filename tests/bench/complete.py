"""Whether recorded runs are what was meant to be measured."""

from __future__ import annotations

from pathlib import Path

from agentdbg.model.records import StepStatus
from agentdbg.store.reader import DirectoryRunSource


def only_run(home: Path) -> Path:
    """The one run of the store at ``home``.

    Raises:
        ValueError: There is another number of runs.
    """
    (run,) = (home / "store" / "runs").iterdir()
    return run


def require_steps(run: Path, steps: int) -> None:
    """A run must hold that many good steps: a figure for a recorder that failed half-way is worth nothing.

    Raises:
        RuntimeError: It does not.
    """
    source = DirectoryRunSource(run)
    source.index()
    good = len(source.positions(statuses=[StepStatus.OK]))
    if good != steps:
        raise RuntimeError(f"{good} good steps recorded of {steps}, {source.step_count()} in all")
