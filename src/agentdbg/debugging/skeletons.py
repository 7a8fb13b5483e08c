"""A step in words, as searches and filters see it."""

from __future__ import annotations

from agentdbg.model.records import Kind, Step


def skeleton_text(step: Step) -> str:
    """What a search sees of a step, without its bodies, in folded case."""
    error = f"{step.error.type} {step.error.message}" if step.error is not None else ""
    model = (
        " ".join(str(step.attrs.get(key, "")) for key in ("model", "resolved_model")) if step.kind is Kind.MODEL else ""
    )
    parts = (
        step.kind, step.name, step.effect or "", step.status, error, model, step.id, step.fingerprint or "",
        step.input_hash or "", step.idempotency_key or "", " ".join(step.holes),
    )  # fmt: skip
    return " ".join(parts).casefold()
