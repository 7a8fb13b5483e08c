"""Runs and steps as members of JSON documents, the same in every command."""

from __future__ import annotations

from collections.abc import Sequence

from agentdbg.compare.unseen import uncovered_count
from agentdbg.model.records import BodyRef, ErrorInfo, RunSummary, Step


def run_members(run: RunSummary) -> dict[str, object]:
    """A run, as in ``runs[]`` and ``run``."""
    return {
        "run_id": run.run_id,
        "status": run.status,
        "agent": run.agent,
        "mode": run.mode,
        "replay_of": run.replay_of,
        "thread_id": run.thread_id,
        "tags": run.tags,
        "flag": run.flag,
        "steps": run.steps,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "models": run.models,
        "failing_step": run.failing_step,
        "error": _error(run.error),
        "verdict": run.verdict,
        "holes": run.holes,
        "uncovered": uncovered_count(run),
    }


def step_members(step: Step) -> dict[str, object]:
    """A step, as in ``steps[]``."""
    usage = step.usage
    return {
        "step": step.n,
        "id": step.id,
        "kind": step.kind,
        "name": step.name,
        "effect": step.effect,
        "status": step.status,
        "parent": step.parent,
        "depth": step.depth,
        "lane": step.lane,
        "started_at": step.started_at,
        "latency_ms": step.latency_ms,
        "input_hash": step.input_hash,
        "fingerprint": step.fingerprint,
        "alpha_fingerprint": step.alpha_fingerprint,
        "tokens": {"input": usage.input, "output": usage.output, "cached": usage.cached} if usage else None,
        "arguments": ref_members(step.arguments),
        "result": ref_members(step.result),
        "error": _error(step.error),
        "idempotency_key": step.idempotency_key,
        "holes": step.holes,
        "attrs": step.attrs,
    }


def ref_members(ref: BodyRef | None) -> dict[str, object] | None:
    """What names a body."""
    return {"sha256": ref.sha256, "size": ref.size} if ref else None


def matches(run: RunSummary, statuses: Sequence[str], thread: str | None, tags: Sequence[tuple[str, str]]) -> bool:
    """Whether a run has one of the statuses (if any are named), the thread and all tags."""
    return (
        (not statuses or run.status in statuses)
        and (thread is None or run.thread_id == thread)
        and all(run.tags.get(key) == value for key, value in tags)
    )


def _error(error: ErrorInfo | None) -> dict[str, str] | None:
    return {"type": error.type, "message": error.message} if error else None
