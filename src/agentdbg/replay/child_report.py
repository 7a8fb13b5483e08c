"""What is known of a replay's child process: what it said, and how it ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

_OVER = (
    "diverged",
    "refused",
    "record_ends",
    "done",
    "stopped",
    "prefix_changed",
    "control_ends",
    "aborted",
    "unsettled",
)


@dataclass(slots=True)
class ChildReport:
    """Attributes:
    messages: What came over the control channel, in order.
    timed_out: The time was up before the replay was over.
    exit_code: As ``subprocess`` reports it; a signal is negative.
    log: The end of what the program wrote to its standard streams.
    strange: Lines on the control channel that the replay did not send.
    told: How many messages whoever watches has been told.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    timed_out: bool = False
    exit_code: int | None = None
    log: str = ""
    strange: int = 0
    told: int = 0

    def first(self, event: str) -> dict[str, Any] | None:
        """The first message of that kind."""
        return next((message for message in self.messages if message.get("event") == event), None)

    def all(self, event: str) -> list[dict[str, Any]]:
        """All messages of that kind."""
        return [message for message in self.messages if message.get("event") == event]

    def is_over(self) -> bool:
        """Whether nothing that the program does from now on counts."""
        return any(message.get("event") in _OVER for message in self.messages)

    def layers(self) -> tuple[str, ...]:
        """What held the child: the audit hook, and the kernel's layers."""
        kernel = self.first("kernel") or {}
        return ("audit", *map(str, kernel.get("layers") or ()))

    @property
    def said_last(self) -> bool:
        """Whether the child has told how it ended, and is about to exit."""
        return self.first("done") is not None or self.first("stopped") is not None

    def ending(self) -> str:
        """How the process ended, in words."""
        code = self.exit_code
        if code is None or code >= 0:
            return f"ended with exit status {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
