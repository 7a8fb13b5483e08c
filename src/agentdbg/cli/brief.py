"""One screen about a run: what it was, where it went wrong, what it did outside, what the record lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentdbg.cli.effects import DoneEffect, effects_of, outward_steps, undeclared
from agentdbg.cli.invocation import Invocation
from agentdbg.cli.output import NOTHING, local_time, print_facts
from agentdbg.compare.unseen import UnseenEffect
from agentdbg.debugging.document import duration_words
from agentdbg.debugging.marks import first_divergence_id
from agentdbg.debugging.overview import Overview, gather
from agentdbg.i18n.catalogue import message
from agentdbg.model.lineage import mode_words
from agentdbg.model.records import RunSummary, Step
from agentdbg.store.protocols import RunSource

_LISTED = 6


def print_brief(invocation: Invocation, source: RunSource) -> None:
    """Print the screen."""
    print_facts(invocation, [(message(f"brief.{key}"), value) for key, value in _pairs(source) if value])


def _pairs(source: RunSource) -> list[tuple[str, object]]:
    run = source.summary()
    steps = source.steps()
    overview = gather(steps, divergence_id=first_divergence_id(run))
    scene = overview.scene()
    return [
        ("run", run.run_id),
        ("status", run.status),
        ("mode", mode_words(run)),
        ("verdict", run.verdict),
        ("agent", run.agent),
        ("started", f"{local_time(run.started_at)}{_lasted(run)}"),
        ("thread", run.thread_id),
        ("tags", "  ".join(f"{key}={value}" for key, value in run.tags.items())),
        ("flag", run.flag),
        ("error", f"{run.error.type}: {run.error.message}" if run.error else None),
        ("scene", _scene(steps[scene]) if scene is not None else None),
        ("effects", _effects(source, unseen=overview.coverage.count > 0)),
        ("uncovered", _uncovered(overview)),
        ("misstated", _named(overview.coverage.contradicting, overview.coverage.contradictions)),
        ("approvals", ", ".join(f"{step.n} {step.name}" for step in overview.approvals.steps[:_LISTED])),
        ("models", ", ".join(f"{name} ×{count}" for name, count in list(overview.models.items())[:_LISTED])),
        ("tokens", _tokens(overview)),
        ("versions", _versions(run)),
        ("steps", len(steps)),
        ("holes", "; ".join([*run.holes, *_holes(overview)][:_LISTED])),
    ]


def _lasted(run: RunSummary) -> str:
    if run.started_at is None or run.ended_at is None:
        return ""
    return f"  ({duration_words((run.ended_at - run.started_at) * 1000)})"


def _scene(step: Step) -> str:
    error = f": {step.error.type}: {step.error.message}" if step.error else ""
    return f"{step.n} {step.kind} {step.name} {step.status}{error}"


def _effects(source: RunSource, *, unseen: bool) -> str:
    effects = list(effects_of(outward_steps(source)))
    if not effects:
        unknown = undeclared(source.steps())
        said = "effects.none_recorded" if unseen else "effects.none"
        return message("effects.undeclared", count=unknown) if unknown else message(said)
    listed = [f"{effect.step.n} {effect.step.name} ({_state(effect)})" for effect in effects[:_LISTED]]
    more = len(effects) - len(listed)
    return ", ".join(listed) + (message("brief.more", count=more) if more else "")


def _uncovered(overview: Overview) -> str:
    """Effects that no seam saw and no recorded call serves."""
    return _named(overview.coverage.uncovered, overview.coverage.count)


def _named(effects: Sequence[UnseenEffect], count: int) -> str:
    listed = [f"{effect.step.n} {effect.what} ({effect.place})" for effect in effects[:_LISTED]]
    more = count - len(listed)
    return "; ".join(listed) + (message("brief.more", count=more) if more else "")


def _state(effect: DoneEffect) -> str:
    state = effect.state.replace("_", " ")
    return f"{state}, {message('effects.repeated')}" if effect.repeated else state


def _tokens(overview: Overview) -> str:
    if not (overview.input_tokens or overview.output_tokens):
        return ""
    return message(
        "brief.token_counts",
        input=overview.input_tokens,
        output=overview.output_tokens,
        cached=overview.cached_tokens,
    )


def _versions(run: RunSummary) -> str:
    versions = run.meta.get("versions")
    if not isinstance(versions, Mapping):
        return ""
    return "  ".join(f"{name}={value}" for name, value in versions.items() if isinstance(value, str | int | float))


def _holes(overview: Overview) -> list[str]:
    return [f"{step.n} {step.name}: {', '.join(step.holes) or NOTHING}" for step in overview.holes.steps[:_LISTED]]
