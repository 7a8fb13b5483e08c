"""One event of a streamed body, and what a way to frame events has to offer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event, or bytes between events that hold no data.

    Attributes:
        raw: The bytes exactly as received, what ends the event included.
        event: Name of the event; ``None`` where there is none or it is empty.
        data: Text of the event, bytes that are not UTF-8 replaced by U+FFFD; ``None`` where there is none.
        at: Where the data begins in ``raw``, where it stands there as it is.
    """

    raw: bytes
    event: str | None
    data: str | None
    at: int = 0


class Framing(Protocol):
    """Cuts a byte stream into events. The raws of all events, followed by ``rest()``, are the bytes fed."""

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take the next bytes and return the events that are now complete."""

    def finish(self) -> list[StreamEvent]:
        """Say that no byte follows; returns the events that were waiting for that."""

    def rest(self) -> bytes:
        """The bytes that do not make a whole event yet."""

    def withheld(self, rest: bytes) -> bytes | None:
        """What may be kept of a rest that may not be kept whole; ``None``: a text may stand in its place."""

    def inside(self, rest: bytes) -> bytes:
        """A rest as a rule has to see it, what can be looked through being replaced by what is in it."""

    def rebuild(self, event: StreamEvent, data: str) -> bytes:
        """The bytes of ``event`` with its data replaced."""

    def clean(self, event: StreamEvent, redact: Callable[[bytes], bytes]) -> StreamEvent:
        """``event`` with what stands beside its data redacted; ``event`` itself where nothing was found."""


def as_utf8(data: str) -> bytes:
    """Text in UTF-8; a lone surrogate, which UTF-8 cannot carry, is written as the JSON escape that stands for it."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", data).encode()
