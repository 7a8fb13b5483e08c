"""What others know of a run that begins: the request it serves, the trace it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from agentdbg.recording.scope import unbegun

if TYPE_CHECKING:
    from agentdbg.recording.run import RunRecording

DESCRIBERS: list[Callable[[RunRecording], object]] = []
"""Add tags, a trace id and the like to a run's facts before its first step is written."""


def describe(run: RunRecording) -> None:
    """Let everybody who knows something of a new run say so."""
    request = unbegun()
    known = DESCRIBERS if request is None else [request.root.took, *DESCRIBERS]
    for say in known:
        run.recorder.guard(partial(say, run), None)
