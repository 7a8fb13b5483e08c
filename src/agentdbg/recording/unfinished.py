"""What a run has begun to give out in pieces, and not ended: with the run it is given up.

A generator that the program keeps lives on behind the run's end, and is closed when the interpreter takes modules
apart, or never. Its step ends with the run, with the items that were taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording

_open: WeakKeyDictionary[RunRecording, dict[str, Callable[[], None]]] = WeakKeyDictionary()


def begun(run: RunRecording, step: str, give_up: Callable[[], None]) -> None:
    """A step of a run gives out pieces; ``give_up`` writes its outcome."""
    _open.setdefault(run, {})[step] = give_up


def ended(run: RunRecording, step: str) -> None:
    """Its outcome is written."""
    if (steps := _open.get(run)) is not None:
        steps.pop(step, None)


def give_up(run: RunRecording) -> None:
    """The run ends."""
    for each in list(_open.pop(run, {}).values()):
        each()
