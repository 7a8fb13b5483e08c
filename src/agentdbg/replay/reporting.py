"""What a process of a replay says of the effects that its guard stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from agentdbg.recording import scope
from agentdbg.recording.calls import ReplayStop
from agentdbg.replay.by_hand import by_hand

if TYPE_CHECKING:
    from agentdbg.replay.answers import ExactAnswers
    from agentdbg.replay.guard import Violation

MAX_TOLERATED = 1000


class Stopped(ReplayStop):
    """The guard stopped an effect."""


class Reporter:
    """Latches what was refused, and counts what is tolerated.

    Attributes:
        answers: Of this process.
        tell: Sends a message to the parent.
    """

    def __init__(self, answers: ExactAnswers, tell: Callable[[Mapping[str, object]], None]) -> None:
        self.answers = answers
        self.tell = tell
        self._tolerated = 0

    def report(self, violation: Violation) -> None:
        """An effect was stopped."""
        kind = "tolerated" if violation.tolerated else "refused"
        message = {**asdict(violation), "effect": violation.event, "event": kind}
        if (here := scope.current()) is not None:  # the run knows values that no rule finds
            message |= {name: here.run.gate.text(str(message[name])) for name in ("detail", "frame")}
        if by_hand():
            self.tell({**message, "event": "refused_by_hand", "frame": "pdb"})
            return
        if not violation.tolerated:
            self.answers.latch(Stopped(f"{violation.event} {violation.detail}"), message)
            return
        self._tolerated += 1
        if self._tolerated <= MAX_TOLERATED:
            self.tell(message)


def step_now() -> str | None:
    """Id of the step that the running code is in."""
    here = scope.current()
    return None if here is None else here.parent
