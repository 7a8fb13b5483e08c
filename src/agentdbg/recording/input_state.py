"""What is known of a lane's latest model input, so that the next one can be written as a change of it."""

from __future__ import annotations

from typing import NamedTuple


class InputState(NamedTuple):
    """The latest model input of a lane.

    Attributes:
        parts: Kind and hash of each segment.
        hashes: Chained hashes.
        since_full: Number of calls since a full list was written.
    """

    parts: tuple[tuple[str, str], ...] = ()
    hashes: tuple[str, ...] = ()
    since_full: int = 0


NO_INPUT = InputState()
