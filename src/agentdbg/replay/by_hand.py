"""What a person does in the program, as told from what the program does. In the child; light."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agentdbg.recording.calls import ReplayStop


class NotFromPdb(ReplayStop):
    """A call, a note or a checkpoint that a person typed: it would be none of the recorded run."""


NOT_MADE = "calls, notes and checkpoints are not made from pdb: the record knows none of them"


class _Here(threading.local):
    depth = 0


_here = _Here()


def by_hand() -> bool:
    """Whether this thread evaluates what a person typed."""
    return _here.depth > 0


@contextmanager
def at_hand() -> Iterator[None]:
    """What is done within is a person's doing."""
    _here.depth += 1
    try:
        yield
    finally:
        _here.depth -= 1
