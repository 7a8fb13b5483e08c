"""What a run is: the records that every room shares. Frozen, slotted, free of I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
HASH_DRAW = "hash"
"""Source of the draws that are no values which the program read: the hashes of its tasks and futures."""


class Kind(StrEnum):
    """What a step is."""

    AGENT = "agent"
    MODEL = "model"
    TOOL = "tool"
    NODE = "node"
    CHECKPOINT = "checkpoint"
    APPROVAL = "approval"
    RETRIEVAL = "retrieval"
    READ = "read"
    HTTP = "http"
    MESSAGE = "message"
    CONFIG = "config"
    EFFECT = "effect"


class Effect(StrEnum):
    """How far a call reaches outside: the side-effect level of a tool."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    EXTERNAL = "external"


class RunStatus(StrEnum):
    """Where a run stands. ``lost``: its process ended without saying so."""

    RUNNING = "running"
    WAITING = "waiting"
    OK = "ok"
    FAILED = "failed"
    LOST = "lost"


class StepStatus(StrEnum):
    """How a step ended. ``open``: an intent without outcome; ``partial``: a stream that was abandoned."""

    OPEN = "open"
    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    PARTIAL = "partial"


class Mode(StrEnum):
    """Which tier a run belongs to."""

    RECORDED = "recorded"
    EXACT = "exact"
    REGRESSION = "regression"


class Origin(StrEnum):
    """Where a shown value comes from: a rebuilt or derived value is never evidence by itself."""

    RECORDED = "recorded"
    REBUILT = "rebuilt"
    DERIVED = "derived"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class BodyRef:
    """Names a body: the hash decides, file and offset are a hint where to find it.

    Attributes:
        sha256: Lower-case hex digest of the stored (redacted) bytes.
        size: Length of those bytes.
        file: Path inside the run directory, or empty when no place is known.
        offset: Byte offset of the body's record in ``file``, or -1.
    """

    sha256: str
    size: int
    file: str = ""
    offset: int = -1


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error that ended a step or a run: class name and message, both redacted."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one model call; ``None`` where the provider did not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a model input, stored once per run.

    Attributes:
        kind: ``system``, ``message``, ``tool_schema``, ``parameters`` or ``retrieved``.
        name: Role, tool name or document id; empty where there is none.
        ref: The segment's body.
    """

    kind: str
    name: str
    ref: BodyRef


@dataclass(frozen=True, slots=True)
class Step:
    """One step as people see it: an intent with its outcome, or a note.

    Attributes:
        n: Display ordinal, from 1. Never stored; ``id`` is.
        id: Permanent id ``writer:seq``.
        kind: What the step is.
        name: Tool, model, node or agent name.
        effect: Declared side-effect level, or ``None`` where a level makes no sense.
        status: How the step ended.
        parent: Id of the enclosing step, or ``None``.
        depth: Number of enclosing steps.
        lane: Normalised lane, ``"0"`` for the root lane, ``"0.2"`` for its third event-bearing fork.
        started_at: Wall time in seconds since the epoch.
        latency_ms: Milliseconds from intent to outcome; ``None`` while open, and for notes.
        input_hash: Chained hash over the segments of a model input.
        fingerprint: ``fp1:…`` of the call.
        alpha_fingerprint: The same with server-minted ids renamed.
        arguments: Arguments of a tool, body of a note (state, documents, content).
        result: Result of a tool, complete output of a model call.
        error: What went wrong, if something did.
        usage: Token counts of a model call.
        idempotency_key: Key of a write, as given to the tool.
        holes: What could not be recorded about this step, in words; empty when complete.
        attrs: Further recorded facts (model asked for and resolved, parameters, headers, can_resume, …).
    """

    n: int
    id: str
    kind: Kind
    name: str
    effect: Effect | None = None
    status: StepStatus = StepStatus.OK
    parent: str | None = None
    depth: int = 0
    lane: str = "0"
    started_at: float = 0.0
    latency_ms: float | None = None
    input_hash: str | None = None
    fingerprint: str | None = None
    alpha_fingerprint: str | None = None
    arguments: BodyRef | None = None
    result: BodyRef | None = None
    error: ErrorInfo | None = None
    usage: Usage | None = None
    idempotency_key: str | None = None
    holes: tuple[str, ...] = ()
    attrs: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_call(self) -> bool:
        """Whether a replay serves its outcome: a retrieval or a read may be such a call, or a note of one."""
        return self.kind in _CALLS or (self.kind in _CALLS_OR_NOTES and self.fingerprint is not None)


_CALLS = frozenset((Kind.MODEL, Kind.TOOL, Kind.HTTP, Kind.APPROVAL))
_CALLS_OR_NOTES = frozenset((Kind.RETRIEVAL, Kind.READ))


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One row of the run list, readable without any body.

    Attributes:
        failing_step: Id of the step that failed, where one did.
        verdict: Verdict of a replay.
        holes: What is known to be missing from the record, in words.
        meta: All of ``run.json``, unknown fields included.
    """

    run_id: str
    status: RunStatus
    agent: str = ""
    mode: Mode = Mode.RECORDED
    replay_of: str | None = None
    thread_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    flag: str | None = None
    steps: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    models: tuple[str, ...] = ()
    failing_step: str | None = None
    error: ErrorInfo | None = None
    verdict: str | None = None
    holes: tuple[str, ...] = ()
    meta: Mapping[str, Json] = field(default_factory=dict)
