"""Reads a served body as a client library does: one recorded piece at a time, its end when its turn has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentdbg.recording.http_calls import ZlibDecoder
from agentdbg.recording.http_served import ServedResponse, answerer, cancelled_again


class AsRead:
    """The agent reads a body with its content encoding, or without: the record keeps it without where it can.

    Attributes:
        raw: It is read with the encoding.
    """

    def __init__(self, encoding: str) -> None:
        self.raw = False
        self._inner = ZlibDecoder() if encoding in ("gzip", "x-gzip", "deflate") else None

    def decode(self, data: bytes) -> bytes:
        """The decoded part of ``data``."""
        if not self.raw:
            return data
        if self._inner is None:
            raise ValueError("a content encoding that cannot be undone here")
        return self._inner.decode(data)

    def flush(self) -> bytes:
        """What was held back."""
        return self._inner.flush() if self.raw and self._inner is not None else b""


def class_of(value: Any) -> Any:
    """The class of a library's object, of which nothing is known before run time."""
    return type(value)


class PieceReader:
    """The body of one served response. The methods ending in ``_async`` suspend the task instead of the thread.

    Attributes:
        ended: Nothing comes any more.
    """

    def __init__(self, found: ServedResponse, error: Callable[[], BaseException | None]) -> None:
        """``error`` makes the recorded exception that the body ended with."""
        self.ended = False
        self._found = found
        self._error = error
        self._rest = b""
        self._at = 0

    async def begin(self) -> None:
        """The head is there; a body that had nothing at all is over with it."""
        if not self._found.pieces and self._found.ends_well:
            await self.some_async()

    def some(self, most: int | None = None) -> bytes:
        """What is left of the current piece, or the next one; empty at the end."""
        while not self._rest and not self.ended:
            self._turn()
            self._take()
        return self._cut(most)

    async def some_async(self, most: int | None = None) -> bytes:
        """The same."""
        while not self._rest and not self.ended:
            await self._turn_async()
            if self._take():
                await cancelled_again(self._found)
        return self._cut(most)

    def rest(self) -> bytes:
        """Everything that is left."""
        return b"".join(iter(self.some, b""))

    async def rest_async(self) -> bytes:
        """The same."""
        found = []
        while piece := await self.some_async():
            found.append(piece)
        return b"".join(found)

    async def until(self, end: bytes) -> bytes:
        """Everything up to and with ``end``, or all that is left."""
        found = b""
        while piece := await self.some_async():
            place = (found + piece).find(end, max(0, len(found) - len(end) + 1))
            if place >= 0:
                whole = found + piece
                self._rest = whole[place + len(end) :] + self._rest
                return whole[: place + len(end)]
            found += piece
        return found

    def now(self, most: int | None = None) -> bytes:
        """What is left of the current piece, or the next one, without waiting for its turn."""
        if not self._rest and not self.ended:
            self._take()
        return self._cut(most)

    @property
    def left(self) -> int:
        """Bytes left of the current piece."""
        return len(self._rest)

    def _cut(self, most: int | None) -> bytes:
        size = len(self._rest) if most is None or most < 0 else most
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def _last(self) -> bool:
        return self._at >= len(self._found.pieces)

    def _turn(self) -> None:
        replay = answerer()
        if self._found.waits and replay is not None and not (self._last() and self._at):
            replay.turn(self._found.served)

    async def _turn_async(self) -> None:
        replay = answerer()
        if self._found.waits and replay is not None and not (self._last() and self._at):
            await replay.turn_async(self._found.served)

    def _take(self) -> bool:
        """Go on to the next piece, or to the end. Returns whether the reader has to be cancelled here again."""
        if not self._last():
            self._rest = self._found.pieces[self._at]
            self._at += 1
            self._found.taken()
            if not self._last() or not self._found.ends_well:
                return False
        self.ended = True
        waits = self._found.past_the_end()
        error = None if waits else self._error()
        if error is not None:
            self._found.close()
            raise error
        return waits
