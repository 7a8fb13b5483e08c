"""A call at a seam, and the protocol by which a replay answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agentdbg.model.records import Effect, Json, Kind, StepStatus


@dataclass(frozen=True, slots=True)
class Call:
    """What a seam is about to do. Everything in it is redacted.

    Attributes:
        step: Id of the intent that is already on disk.
        kind: ``tool``, ``model``, ``http`` or ``approval``.
        lane: Raw lane path.
        fingerprint: Identity of the call.
        alpha: The same with server-minted ids renamed.
        arguments_hash: Hash of the recorded arguments or input.
        key: Idempotency key that the tool is given.
        given: A tool's own arguments by parameter name, not redacted: for its dry run and its status look-up alone.
        rebinds: The call can be made with other arguments: see `Rearranged`.
        pieces: What it gives comes one by one; its end alone has a turn.
        call_id: Under which a model asked for it, where a framework says so.
        served_only: Who does it is not there in a replay: it can be served, never made.
    """

    step: str
    kind: Kind
    name: str
    effect: Effect | None
    lane: str
    fingerprint: str
    alpha: str
    arguments_hash: str
    key: str | None = None
    given: Mapping[str, object] | None = field(default=None, repr=False, compare=False)
    rebinds: bool = field(default=False, compare=False)
    pieces: bool = field(default=False, compare=False)
    call_id: str | None = field(default=None, compare=False)
    served_only: bool = field(default=False, compare=False)


@dataclass(slots=True)
class OpenStep:
    """An intent that is on disk and waits for its outcome."""

    id: str
    kind: Kind
    began: int
    call: Call | None


@dataclass(frozen=True, slots=True)
class Served:
    """An outcome out of the record.

    Attributes:
        step: Id of the recorded step.
        status: How the recorded call ended.
        result: Bytes of the recorded result, or ``None``.
        error: ``{"type", "module", "args"}`` of a recorded exception.
        attrs: Attributes of the recorded outcome.
        stream: Bodies of a recorded stream, in order.
        turn: Turn of the event loop in which it ended, for the replay's own record.
    """

    step: str
    status: StepStatus
    result: bytes | None = None
    error: Mapping[str, Json] | None = None
    attrs: Mapping[str, Json] = field(default_factory=dict)
    stream: tuple[bytes, ...] = ()
    turn: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Made(Served):
    """An outcome that was made in the call's place: by its dry run, by its status look-up, or by a person.

    Attributes:
        value: What the agent gets, as it is.
    """

    value: object = None


@dataclass(frozen=True, slots=True)
class Given(Made):
    """A result that a person put in the call's place; objects in ``value`` are still taken apart."""


@dataclass(frozen=True, slots=True)
class Rearranged(Served):
    """The call is made, with other arguments than it came with.

    Attributes:
        arguments: By parameter name, as the function is to get them.
    """

    arguments: Mapping[str, object] = field(default_factory=dict)


class CallRefused(Exception):
    """What an agent gets from a call that a regression replay does not make: an ordinary error of that tool."""


class ReplayStop(BaseException):
    """Ends a replay: the run diverged or an effect was refused. No ``Exception``: no retry loop shall swallow it."""


class Answerer(Protocol):
    """Answers calls in a replay. ``None`` as an answer means: run it live.

    Attributes:
        nested: Tools may run: calls inside their bodies are asked about too, and calls have an alpha fingerprint.
    """

    nested: bool

    def answer(self, call: Call) -> Served | None:
        """Answer from a thread; blocks until the outcome's turn has come.

        A served stream is answered at once; ``turn`` holds back its end.

        Raises:
            ReplayStop: The record has no such call.
            CallRefused: The call is not made; the agent is told so.
        """

    async def answer_async(self, call: Call) -> Served | None:
        """The same, suspending the task instead of the thread."""

    def turn(self, served: Served) -> None:
        """Block until the end of a served stream may be shown: recorded completion order."""

    async def turn_async(self, served: Served) -> None:
        """The same, suspending the task."""

    def diverge(self, call: Call, reason: str) -> ReplayStop:
        """The program does something that the record does not have; returns what to raise."""

    def finished(self, call: Call, status: StepStatus) -> None:
        """The call's outcome is recorded."""

    def stopped(self) -> ReplayStop | None:
        """Why the replay is over, if it is: every later seam raises it again."""
