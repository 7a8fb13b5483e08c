"""A run as it may leave this machine: past the redaction gate, and each value says where it comes from."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import BodyRef, ErrorInfo, Json, Origin, RunSummary, Segment, Step
from agentdbg.redaction.gate import Gate
from agentdbg.store.protocols import BodyMissing, RunSource

_ALSO: Final = ("input",)
_NOT_SHOWN: Final = frozenset({"n", "id", "parent", "depth", "lane", "holes", "attrs"})
_PLAIN: Final = (Origin.RECORDED, Origin.ABSENT)


@dataclass(frozen=True, slots=True)
class Body:
    """A body that is shared.

    Attributes:
        ref: What the record calls it.
        value: Its content: JSON as it is, other text as a string, other bytes as ``{"base64": …}``.
        redacted: Whether the gate changed it, so that it no longer has its hash.
        missing: Why it cannot be shared; empty when it is there.
    """

    ref: BodyRef
    value: Json = None
    redacted: bool = False
    missing: str = ""


class Evidence:
    """Reads a run for sharing. Everything recorded passes the gate, bodies too.

    Attributes:
        redacted: How many bodies the gate changed so far.
        missing: How many could not be read.
    """

    def __init__(self, source: RunSource, gate: Gate, *, skeleton: bool = False) -> None:
        """Read a run.

        Args:
            source: The run.
            gate: A fresh gate.
            skeleton: Leave the bodies out.
        """
        self.source = source
        self.skeleton = skeleton
        self.redacted = 0
        self.missing = 0
        self._gate = gate

    @property
    def summary(self) -> RunSummary:
        """The run's row, as recorded; its texts are for ``text`` and ``value``."""
        return self.source.summary()

    def steps(self) -> Iterator[Step]:
        """All steps, in display order."""
        yield from self.source.steps()

    def text(self, recorded: str) -> str:
        """A recorded text, past the gate."""
        return self._gate.text(recorded)

    def value(self, recorded: Json) -> Json:
        """A recorded value, past the gate."""
        return self._gate.value(recorded)

    def body(self, ref: BodyRef) -> Body:
        """A body, past the gate."""
        if self.skeleton:
            return Body(ref, missing="left out: only the skeleton is shared")
        try:
            raw = self.source.body(ref)
        except BodyMissing as problem:
            self.missing += 1
            return Body(ref, missing=str(problem) or "it is not in the record")
        safe = self._gate.body(raw)
        self.redacted += safe != raw
        return Body(ref, _content(safe), safe != raw)

    def segments(self, step: Step) -> Sequence[Segment]:
        """The input of a model call."""
        return self.source.segments(step)

    def run_members(self) -> dict[str, Json]:
        """The run as a JSON object."""
        run = self.summary
        return {
            "run_id": run.run_id,
            "status": run.status.value,
            "agent": self.text(run.agent),
            "mode": run.mode.value,
            "replay_of": run.replay_of,
            "thread_id": self.text(run.thread_id) if run.thread_id else None,
            "tags": self.value(dict(run.tags)),
            "flag": self.text(run.flag) if run.flag else None,
            "verdict": run.verdict,
            "steps": len(self.source.steps()),
            "started_at": run.started_at,
            "ended_at": run.ended_at,
            "models": self.value(list(run.models)),
            "failing_step": run.failing_step,
            "error": self._error(run.error),
            "versions": self.value(run.meta.get("versions")),
            "holes": self.value(list(run.holes)),
            "problems": self.value(list(self.source.problems())),
        }

    def step_members(self, step: Step) -> dict[str, Json]:
        """A step as a JSON object, with the origin of every value that was not simply recorded."""
        usage = step.usage
        return {
            "step": step.n,
            "id": step.id,
            "kind": step.kind.value,
            "name": self.text(step.name),
            "effect": step.effect.value if step.effect else None,
            "status": step.status.value,
            "parent": step.parent,
            "depth": step.depth,
            "lane": step.lane,
            "started_at": step.started_at or None,
            "latency_ms": step.latency_ms,
            "input_hash": step.input_hash,
            "fingerprint": step.fingerprint,
            "tokens": {"input": usage.input, "output": usage.output, "cached": usage.cached} if usage else None,
            "arguments": ref_members(step.arguments),
            "result": ref_members(step.result),
            "error": self._error(step.error),
            "idempotency_key": self.text(step.idempotency_key) if step.idempotency_key else None,
            "holes": self.value(list(step.holes)),
            "attrs": self.value(dict(step.attrs)),
            "origins": {name: origin.value for name, origin in self.origins(step).items()},
        }

    def origins(self, step: Step) -> dict[str, Origin]:
        """The fields of a step that were rebuilt or derived."""
        names = [entry.name for entry in fields(step) if entry.name not in _NOT_SHOWN]
        found = {name: self.source.origin(step, name) for name in (*names, *_ALSO)}
        return {name: origin for name, origin in found.items() if origin not in _PLAIN}

    def _error(self, error: ErrorInfo | None) -> Json:
        return {"type": self.text(error.type), "message": self.text(error.message)} if error else None


def ref_members(ref: BodyRef | None) -> Json:
    """What names a body."""
    return {"sha256": ref.sha256, "size": ref.size} if ref else None


def _content(raw: bytes) -> Json:
    try:
        return loads_json(raw)
    except ValueError:
        pass  # no JSON: shared as text
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode("ascii")}
