"""A recorded HTTP response, served again: head, body in the recorded pieces, and how it ended."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, cast

from agentdbg.model.canonical import loads
from agentdbg.model.records import Json, StepStatus
from agentdbg.recording.active import record_served
from agentdbg.recording.calls import ReplayStop
from agentdbg.recording.http_calls import HttpCall, at_exit, settled
from agentdbg.recording.process import recorder

if TYPE_CHECKING:
    from agentdbg.recording.calls import Answerer, Served

_WBITS = {"gzip": 31, "deflate": 15}
_NO_BLOCK = b"\xff\xff\xff\xff"
"""No deflate block begins like this: whatever undoes the encoding fails here, as it did when it was recorded."""


class ServedResponse:
    """A recorded response on its way to the agent; writes the outcome when the agent has read it, or gave it up.

    Attributes:
        status: HTTP status.
        headers: Recorded headers, as bytes: placeholders are not ASCII.
        extensions: What the client keeps beside them.
        preloaded: The transport gave the whole body at once.
        pieces: The body as it is given to the client.
    """

    def __init__(self, call: HttpCall, served: Served, *, coded: bool = True) -> None:
        """``coded``: the client undoes the content encoding itself, so that the pieces must have it."""
        attrs = served.attrs
        self.served = served
        self.status = cast(int, attrs["http_status"])
        self.headers, coders = _head(attrs, coded=coded)
        self.extensions = {"http_version": str(attrs.get("http_version", "HTTP/1.1")).encode()}
        if isinstance(attrs.get("http_reason"), str):
            self.extensions["reason_phrase"] = str(attrs["http_reason"]).encode("ascii", "replace")
        self.preloaded = attrs.get("preloaded") is True
        self._given_up = attrs.get("given_up") is True
        self._cancelled = served.status is StepStatus.CANCELLED
        self.pieces = _coded(body_pieces(served), coders, attrs, whole=self._whole)
        self._call = call
        self._taken = 0
        self._countable = not served.stream or "chunks" in attrs or "chunk_events" in attrs
        self._ended = self._done = False
        for part in served.stream:
            call.scope.run.gate.adopt(part)
        at_exit(self, self._process_ends)

    @property
    def _whole(self) -> bool:
        return not self._given_up and self.served.error is None

    @property
    def ends_well(self) -> bool:
        """The body was read to its end."""
        return self._whole and not self._cancelled

    def encode(self) -> None:
        """Give the pieces, made without their content encoding, that encoding: the agent reads them as they came."""
        self.pieces = _coded(self.pieces, _head(self.served.attrs)[1], self.served.attrs, whole=self._whole)

    @property
    def waits(self) -> bool:
        """The next piece is the last one: how the body ended may be shown when its turn has come, not before."""
        return not (self._given_up or self._cancelled) and self._taken >= len(self.pieces) - 1

    def taken(self) -> None:
        """The agent is about to get a piece."""
        self._taken += 1

    def past_the_end(self) -> bool:
        """The agent reads on after the last recorded piece. Returns whether it has to wait until it is cancelled.

        Raises:
            ReplayStop: It had given the response up here.
        """
        if self._given_up and not self._done:
            raise self._diverge("reads on where the recorded response was given up")
        if self._cancelled and not self._done:
            return True
        self._ended = True
        self._write(self.served)
        return False

    def close(self) -> None:
        """The agent closes the response.

        Raises:
            ReplayStop: It had read further.
        """
        if self._done or self._ended:
            return
        if self._taken < len(self.pieces) and self._countable and (self._given_up or self._cancelled):
            raise self._diverge("gives the response up earlier than recorded")
        self._write(self._closed_early())

    def _process_ends(self) -> None:
        """Nobody read the response to its end, nor closed it."""
        with suppress(ReplayStop):  # it is latched
            self.close()

    def _closed_early(self) -> Served:
        served = self.served
        read = self._taken >= len(self.pieces) if served.stream else self._ended
        if self._given_up or self._cancelled or read or served.status not in (StepStatus.OK, StepStatus.ERROR):
            return served
        return replace(served, status=StepStatus.PARTIAL)

    def _write(self, served: Served) -> None:
        if self._done:
            return
        self._done = True
        run = self._call.scope.run
        settled(self)
        if served.stream:
            parts = cast("list[Json]", [run.body(part) for part in served.stream])
            served = replace(served, attrs={**served.attrs, "stream": parts})
        run.recorder.guard(lambda: record_served(run, self._call.scope, self._call.step, served), None)

    def _diverge(self, reason: str) -> BaseException:
        found = answerer()
        if found is None or self._call.call is None:
            return RuntimeError(reason)
        return found.diverge(self._call.call, reason)


def answerer() -> Answerer | None:
    """Who answers this process's calls; ``None`` outside a replay."""
    found = recorder()
    return None if found is None else found.answerer


def body_pieces(served: Served) -> list[bytes]:
    """A recorded body in the pieces in which the agent read it, as far as redaction left them."""
    events: list[bytes] = []
    for part in served.stream:
        rows = loads(part)
        found = rows if isinstance(rows, list) else []
        events += [str(row[1]).encode("utf-8", "surrogateescape") for row in found]
    sizes = _counts(served.attrs.get("chunks"))
    if not served.stream:
        return _split(served.result or b"", sizes)
    if sizes is not None and sum(sizes) == sum(map(len, events)):
        return _split(b"".join(events), sizes)
    counts = _counts(served.attrs.get("chunk_events"))
    if counts is None or sum(counts) > len(events):
        return events
    ends = [*accumulate(counts, initial=0)]
    pieces = [b"".join(events[start:end]) for start, end in pairwise(ends)]
    rest = b"".join(events[ends[-1] :])
    return _spread([*pieces[:-1], pieces[-1] + rest]) if pieces else [rest]


def _spread(pieces: list[bytes]) -> list[bytes]:
    """Let a piece in which no event ended have its share of the next: clients pass over an empty one and read on."""
    found: list[bytes] = []
    held = b""
    waiting = 0
    for piece in pieces:
        held += piece
        waiting += 1
        if len(held) >= waiting:
            share = len(held) // waiting
            found += [held[i * share : (i + 1) * share] for i in range(waiting - 1)]
            found.append(held[(waiting - 1) * share :])
            held, waiting = b"", 0
    return [*found, *([held] + [b""] * (waiting - 1) if waiting else [])]


def _split(body: bytes, sizes: Sequence[int] | None) -> list[bytes]:
    """Cut a body at the recorded places; one whose length redaction changed, at places in proportion."""
    if sizes is None:
        return [body] if body else []
    total = sum(sizes)
    ends = [*accumulate(sizes, initial=0)]
    if total != len(body):
        ends = [*(end * len(body) // max(total, 1) for end in ends[:-1]), len(body)]
    return [body[start:end] for start, end in pairwise(ends)]


def _counts(value: Json) -> list[int] | None:
    if not isinstance(value, list):
        return None
    return [item for item in value if isinstance(item, int)]


async def cancelled_again(found: ServedResponse) -> None:
    """The reader was cancelled here while recording: wait until it is again."""
    replay = answerer()
    try:
        if replay is not None:
            await replay.turn_async(found.served)
    finally:
        found.close()


def dropped(found: ServedResponse) -> None:
    """The agent let the response go."""
    with suppress(ReplayStop):  # it is latched: the next seam raises it
        found.close()


def _head(attrs: Mapping[str, Json], *, coded: bool = True) -> tuple[list[tuple[bytes, bytes]], list[str]]:
    """Headers as they are served, and the content encodings that their body must have."""
    pairs = attrs.get("headers")
    found: list[tuple[bytes, bytes]] = []
    coders: list[str] = []
    for pair in pairs if isinstance(pairs, list) else []:
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        name, value = str(pair[0]), str(pair[1])
        if coded and name.lower() == "content-encoding" and attrs.get("encoded") is not True:
            named = [part.strip().lower() for part in value.split(",")]
            wanted = [coder for coder in named if coder not in ("", "identity")]
            if any(coder not in _WBITS for coder in wanted):
                continue
            coders += wanted
        found.append((name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass")))
    return found, coders


def _coded(pieces: list[bytes], coders: list[str], attrs: Mapping[str, Json], *, whole: bool) -> list[bytes]:
    """The pieces in their content encoding again, each readable when it arrives."""
    if not coders or not pieces:
        return pieces
    for coder in coders:
        packer = zlib.compressobj(wbits=_WBITS[coder])
        pieces = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
        if whole and not attrs.get("encoding_breaks"):
            pieces[-1] += packer.flush()
    return [*pieces, _NO_BLOCK] if attrs.get("encoding_breaks") else pieces
