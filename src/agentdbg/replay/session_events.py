"""What happens in a running replay, as records for whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from agentdbg.model.records import Json
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.where import Frame


@dataclass(frozen=True, slots=True)
class CallAt:
    """A call that the program makes.

    Attributes:
        id: Of its step in the replay's own record.
        recorded: Number of the recorded step that it is taken for; ``None`` when the record has none.
    """

    id: str
    kind: str
    name: str
    recorded: int | None


@dataclass(frozen=True, slots=True)
class Started:
    """The program is about to run; the directory in which the replay's record grows."""

    made: Path


@dataclass(frozen=True, slots=True)
class Stepped:
    """The program makes a call."""

    call: CallAt


@dataclass(frozen=True, slots=True)
class Paused:
    """The program is held before a call.

    Attributes:
        why: ``pause``, ``breakpoint`` or ``run to``; ``pdb``: it stands at a line, ``kind`` is ``line``.
        problem: Why the replay is about to diverge here; empty when it is not.
        where: The program's stack, innermost frame first.
        choices: What `ReplaySession.decide` takes here beside ``go``.
        arguments: The call's arguments, where other ones can be decided.
        said: What pdb says of the line where it has stopped.
    """

    call: CallAt
    why: str
    problem: str = ""
    where: tuple[Frame, ...] = ()
    choices: tuple[str, ...] = ()
    arguments: Json = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """A held call goes on."""

    call: CallAt
    action: str


@dataclass(frozen=True, slots=True)
class NotDone:
    """What was decided about a held call cannot be done; it is held still."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a line of ``pdb`` said.

    Attributes:
        moves: The program goes on; where it comes to is told by the next `Paused`, if it comes anywhere.
    """

    line: str
    text: str
    moves: bool = False


@dataclass(frozen=True, slots=True)
class NoCall:
    """The program was asked to pause and makes no call: it computes, or waits.

    Attributes:
        where: The innermost line of its own in each thread.
    """

    where: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """An effect was stopped."""

    effect: str
    detail: str
    frame: str
    tolerated: bool


@dataclass(frozen=True, slots=True)
class Diverged:
    """The program left the recorded path."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Printed:
    """What the program wrote to its standard streams: safe to show.

    Attributes:
        skipped: Bytes ahead of it that came too fast to be told.
    """

    text: str
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """The replay is over.

    Attributes:
        outcome: How; ``None`` when it was not run.
        error: Why it was not run.
        refused: It was not run for safety.
    """

    outcome: Outcome | None
    error: str = ""
    refused: bool = False


Event: TypeAlias = (
    "Started | Stepped | Paused | Released | NotDone | NoCall | Inspected | Refused | Diverged | Printed | Ended"
)
