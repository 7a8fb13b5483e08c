"""What a running replay's program prints, in few pieces that are safe to show."""

from __future__ import annotations

import threading
import time
from typing import Final

from agentdbg.model.safe_text import safe_block
from agentdbg.redaction.gate import Gate
from agentdbg.replay.session_events import Printed

LOG_SECONDS: Final = 0.05
LOG_BYTES: Final = 16 * 1024
"""Of what is printed faster than this between two events only the end is told."""


class LogPieces:
    """Puts what a program prints into few pieces."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._pending = b""
        self._skipped = 0
        self._next = 0.0

    def add(self, data: bytes) -> None:
        """Take what was printed; of too much the end is kept."""
        with self._lock:
            self._pending += data
            over = len(self._pending) - LOG_BYTES
            if over > 0:
                self._skipped += over
                self._pending = self._pending[over:]

    def take(self, *, last: bool) -> Printed | None:
        """What can be told by now; a line that is not ended waits for its end, or for the ``last`` piece."""
        with self._lock:
            if not self._pending or (time.monotonic() < self._next and not last):
                return None
            end = self._pending.rfind(b"\n") + 1
            if last or not end:
                end = len(self._pending)
            self._next = time.monotonic() + LOG_SECONDS
            text, self._pending = self._pending[:end].decode("utf-8", "replace"), self._pending[end:]
            skipped, self._skipped = self._skipped, 0
        return Printed(str(safe_block(self._gate.text(text))), skipped)
