"""Redacting text that arrives in pieces: a secret cut over many deltas goes as one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.redaction import jsontext
from agentdbg.redaction.decode import open_run
from agentdbg.redaction.span import Span

if TYPE_CHECKING:
    from agentdbg.redaction.gate import Gate

HOLD = 256
"""Characters of a channel that wait for what follows; a secret that has begun waits until it ends."""
_CONTEXT = 384
_CONTEXT_MOST = 4096


class _Piece:
    """One delta: how much of it is still to be decided, and what came out."""

    __slots__ = ("left", "out", "token")

    def __init__(self, token: object, left: int) -> None:
        self.token = token
        self.left = left
        self.out: list[str] = []


class _Channel:
    """Raw text of one channel: ``context`` is decided and kept to look back at, ``pending`` is not."""

    __slots__ = ("context", "inside", "json_text", "parts", "pending", "pieces", "size")

    def __init__(self) -> None:
        self.context = ""
        self.parts: list[str] = []
        self.pending = ""
        self.size = 0
        self.pieces: deque[_Piece] = deque()
        self.json_text: bool | None = None
        self.inside = False

    def add(self, piece: _Piece, text: str) -> None:
        """Append a delta."""
        self.pieces.append(piece)
        self.parts.append(text)
        self.size += len(text)

    def window(self) -> str:
        """Return context and pending text."""
        if self.parts:
            self.pending += "".join(self.parts)
            self.parts.clear()
        if self.json_text is None and self.pending.strip():
            self.json_text = jsontext.is_json(self.pending)
        return self.context + self.pending


class StreamRedactor:
    """Redacts deltas of several channels; one caller at a time.

    What comes out, joined by channel, is what ``Gate.text`` makes of the joined input. Deltas come out in the order in
    which they went in, each exactly once: a delta waits for those before it, in whatever channel.
    """

    def __init__(self, gate: Gate) -> None:
        """Make a redactor that shares the gate's memory."""
        self._gate = gate
        self._channels: dict[str, _Channel] = {}
        self._queue: deque[_Piece] = deque()

    def feed(self, channel: str, text: str, token: object) -> list[tuple[object, str]]:
        """Take a delta in; return those that are decided, each as (token, redacted delta)."""
        if not self._gate.enabled:
            return [(token, text)]
        piece = _Piece(token, len(text))
        self._queue.append(piece)
        state = self._channels.setdefault(channel, _Channel())
        state.add(piece, text)
        if state.size > HOLD:
            self._decide(state, final=False)
        return self._drain()

    def flush(self, channel: str | None = None) -> list[tuple[object, str]]:
        """Decide everything, or everything of one channel that has ended; return what can come out."""
        for name in list(self._channels) if channel is None else [channel]:
            state = self._channels.pop(name, None)
            if state is not None:
                self._decide(state, final=True)
        return self._drain()

    def _drain(self) -> list[tuple[object, str]]:
        out: list[tuple[object, str]] = []
        while self._queue and self._queue[0].left == 0:
            piece = self._queue.popleft()
            out.append((piece.token, "".join(piece.out)))
        return out

    def _decide(self, state: _Channel, *, final: bool) -> None:
        window = state.window()
        done = len(state.context)
        try:
            spans = self._gate.find(window)
        except Exception:
            if final:
                self._release(state, window, done, len(window), None)
            return
        limit = len(window) if final else self._limit(window, spans)
        if limit > done or final:
            self._release(state, window, done, limit, spans)
        if not final:
            self._look_back(state, window, max(limit, done), spans)

    @staticmethod
    def _limit(window: str, spans: list[Span]) -> int:
        """Return up to where a window is decided: before every secret that may still grow."""
        limit = len(window) - HOLD
        run = open_run(window)
        if run >= 0:
            limit = min(limit, run)
        for span in spans:
            if span.start < limit < span.end:
                limit = span.start
        return limit

    def _release(self, state: _Channel, window: str, done: int, limit: int, spans: list[Span] | None) -> None:
        """Give the decided text to the deltas it came from; a placeholder goes to the delta where its secret begins."""
        if spans is None:
            self._give(state, limit - done, self._gate.withheld(window[done:limit]))
            return
        at = done
        for span in spans:
            if span.end <= done or span.start >= limit:
                continue
            self._give_plain(state, window[at : span.start])
            begin = max(span.start, done)
            stand_in = ""
            if span.start >= done:
                bare = self._gate.bare(window, span, bool(state.json_text), state.inside)
                stand_in = self._gate.commit(span, bare=bare)
            self._give(state, span.end - begin, stand_in)
            at = span.end
        self._give_plain(state, window[at:limit])

    @staticmethod
    def _give_plain(state: _Channel, text: str) -> None:
        at = 0
        while at < len(text):
            piece = state.pieces[0]
            taken = min(piece.left, len(text) - at)
            piece.out.append(text[at : at + taken])
            piece.left -= taken
            at += taken
            if piece.left == 0:
                state.pieces.popleft()

    @staticmethod
    def _give(state: _Channel, size: int, stand_in: str) -> None:
        while state.pieces and state.pieces[0].left == 0:
            state.pieces.popleft()
        if size > 0:
            state.pieces[0].out.append(stand_in)
        while size > 0:
            piece = state.pieces[0]
            taken = min(piece.left, size)
            piece.left -= taken
            size -= taken
            if piece.left == 0:
                state.pieces.popleft()

    @staticmethod
    def _look_back(state: _Channel, window: str, limit: int, spans: list[Span]) -> None:
        """Keep enough decided text to judge what follows, beginning outside of any secret and any word."""
        start = max(0, limit - _CONTEXT)
        line = max(window.rfind("\n", 0, start), limit - _CONTEXT_MOST)
        if start and window.lower().find("cookie", max(0, line), start) >= 0:
            start = max(0, line)
        floor = max(0, start - 128)
        while start > floor and not window[start - 1].isspace():
            start -= 1
        for span in spans:
            if span.start < start < span.end:
                start = span.start
        state.inside = jsontext.inside_after(window[:start], state.inside)
        state.context = window[start:limit]
        state.pending = window[limit:]
        state.size = len(state.pending)
