"""What ``run.json`` says about a run while it is being recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentdbg.recording.pins import real_time
from agentdbg.store.journal import FORMAT

if TYPE_CHECKING:
    from agentdbg.model.fingerprint import VolatileRules
    from agentdbg.recording.process import Recorder
    from agentdbg.redaction.gate import Gate


@dataclass(slots=True)
class RunFacts:
    """What ``run.json`` says about a run, as it changes."""

    run_id: str
    agent: str
    status: str = "running"
    started_at: float = field(default_factory=lambda: real_time())
    ended_at: float | None = None
    thread_id: str | None = None
    continues: str | None = None
    trace_id: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    steps: int = 0
    failing_step: str | None = None
    error: dict[str, str] | None = None
    entry: dict[str, object] = field(default_factory=dict)
    holes: list[str] = field(default_factory=list)
    root: int = 0
    """Which root call of its process this run is, from 1; 0 for a process without one."""


def meta(
    facts: RunFacts, recorder: Recorder, gate: Gate, volatile: VolatileRules, uncovered: int | None = None
) -> dict[str, object]:
    """The content of ``run.json``, redacted. ``uncovered``: number of effects that no seam saw and no call covers."""
    redact = gate.text
    found: dict[str, object] = {
        "format": FORMAT,
        "run_id": facts.run_id,
        "agent": redact(facts.agent),
        "status": facts.status,
        "mode": "recorded",
        "started_at": facts.started_at,
        "ended_at": facts.ended_at,
        "thread_id": redact(facts.thread_id) if facts.thread_id else None,
        "continues": facts.continues,
        "trace_id": facts.trace_id,
        "tags": {redact(k): redact(v) for k, v in list(facts.tags.items())},
        "versions": dict(facts.versions),
        "models": list(facts.models),
        "steps": facts.steps,
        "failing_step": facts.failing_step,
        "error": facts.error,
        "entry": facts.entry,
        "holes": list(facts.holes),
        "owner": recorder.owner,
        "roots": recorder.roots,
        "rules": {
            "redaction": gate.version() if recorder.redacting else {"version": "off", "kid": ""},
            "volatile": {"version": volatile.version, "paths": {k: list(v) for k, v in volatile.paths.items()}},
        },
        "uncovered": uncovered,
        "seal": recorder.seal(facts.run_id, facts.entry),
    }
    found.update(recorder.mode_meta)
    return {key: value for key, value in found.items() if value not in (None, [], {})}
