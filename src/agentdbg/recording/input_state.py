"""What is known of a lane's latest model input, so that the next one can be written as a change of it."""

from __future__ import annotations


class InputState:
    """The latest model input of a lane. Light, as it is loaded before the program that is recorded.

    Attributes:
        parts: Kind and hash of each segment.
        hashes: Chained hashes.
        since_full: Number of calls since a full list was written.
    """

    __slots__ = ("hashes", "parts", "since_full")

    def __init__(
        self, parts: tuple[tuple[str, str], ...] = (), hashes: tuple[str, ...] = (), since_full: int = 0
    ) -> None:
        self.parts = parts
        self.hashes = hashes
        self.since_full = since_full


NO_INPUT = InputState()
