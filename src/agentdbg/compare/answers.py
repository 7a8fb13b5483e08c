"""The six questions that every comparison of two runs answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from agentdbg.compare.step_difference import Sameness, has_ended
from agentdbg.compare.trajectory import StepPair
from agentdbg.model.records import BodyRef, Json, Kind, RunSummary, Step, StepStatus

NAMED = 5
VERSIONS, RETRIEVED, ARGUMENTS, RESULTS, FINAL, INTENDED = (
    "versions",
    "retrieved",
    "arguments",
    "results",
    "final",
    "intended",
)
Get: TypeAlias = "Callable[[Step], BodyRef | None]"


@dataclass(frozen=True, slots=True)
class Answer:
    """Attributes:
    question: ``versions``, ``retrieved``, ``arguments``, ``results``, ``final`` or ``intended``.
    changed: ``yes``, ``no`` or ``unknown``.
    intended: Whether the change was declared as intended; ``None`` where nothing was declared or changed.
    evidence: One line.
    """

    question: str
    changed: str
    intended: bool | None
    evidence: str

    def members(self) -> dict[str, object]:
        """As in the JSON documents."""
        return asdict(self)


def six_answers(
    recorded: RunSummary, other: RunSummary, pairs: Sequence[StepPair], same: Sameness, *, complete: bool
) -> tuple[Answer, ...]:
    """Answer the six questions.

    Args:
        recorded: The run that is the measure.
        other: The run that is judged.
        pairs: Steps that stand at the same place.
        same: What counts as the same.
        complete: Both runs came to their end; otherwise what was not reached is unknown, not unchanged.
    """
    tools = [pair for pair in pairs if _kind(pair) in (Kind.TOOL, Kind.HTTP)]
    documents = [pair for pair in pairs if _kind(pair) in (Kind.RETRIEVAL, Kind.READ)]
    answers = (
        _versions(recorded.meta.get("versions"), other.meta.get("versions")),
        _bodies(RETRIEVED, documents, _found, same, complete, "documents or reads"),
        _bodies(ARGUMENTS, tools, _arguments, same, complete, "tool calls"),
        _bodies(RESULTS, [pair for pair in tools if _both_ended(pair)], _result, same, complete, "tool results"),
        _final(pairs, same, complete),
    )
    changed = any(answer.changed == "yes" for answer in answers)
    evidence = "no intended change was declared" if changed else "nothing is known to have changed"
    return (*answers, Answer(INTENDED, "unknown" if changed else "no", None, evidence))


def _versions(left: Json, right: Json) -> Answer:
    a, b = _values(left), _values(right)
    if not a and not b:
        return Answer(VERSIONS, "unknown", None, "neither run names a version")
    if not a or not b:
        return Answer(VERSIONS, "unknown", None, "only one of the runs names versions")
    names = [name for name in {**a, **b} if a.get(name) != b.get(name)]
    changed = [f"{name}: {a.get(name, 'none')} → {b.get(name, 'none')}" for name in names]
    return _answer(VERSIONS, changed, complete=True, compared=f"{len(a)} versions agree")


def _values(versions: Json) -> dict[str, str]:
    found = versions if isinstance(versions, Mapping) else {}
    return {name: str(about.get("value") if isinstance(about, Mapping) else about) for name, about in found.items()}


def _bodies(question: str, pairs: Sequence[StepPair], get: Get, same: Sameness, complete: bool, what: str) -> Answer:
    if not pairs:
        return Answer(question, "unknown", None, f"no {what} were recorded")
    reached = [(a, b) for a, b in pairs if (a is not None and b is not None) or complete]
    changed = [_named(a, b) for a, b in reached if not _alike(a, b, get, same)]
    whole = complete or len(reached) == len(pairs)
    compared = f"{len(reached)} of {len(pairs)} {what} compared, all agree"
    return _answer(question, changed, complete=whole, compared=compared)


def _final(pairs: Sequence[StepPair], same: Sameness, complete: bool) -> Answer:
    finals = [pair for pair in pairs if _is_final(pair[0]) or _is_final(pair[1])]
    root = next(((a, b) for a, b in pairs if _is_root(a) or _is_root(b)), None)
    changed = [_named(a, b) for a, b in finals if (complete or (a and b)) and not _alike(a, b, _arguments, same)]
    unwound = root is not None and not complete and any(step and step.status is not StepStatus.OK for step in root)
    if root is not None and not unwound and _both_ended(root) and not _alike(*root, _result, same):
        changed.append("the final answer")
    known = complete and (root is not None or bool(finals))
    compared = "final answer and final state agree" if finals else "final answer agrees; no final state was declared"
    return _answer(FINAL, changed, complete=known, compared=compared if known else "not reached")


def _answer(question: str, changed: Sequence[str], *, complete: bool, compared: str) -> Answer:
    if changed:
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        return Answer(question, "yes", None, "; ".join(changed[:NAMED]) + more)
    return Answer(question, "no" if complete else "unknown", None, compared)


def _alike(a: Step | None, b: Step | None, get: Get, same: Sameness) -> bool:
    if a is None or b is None:
        return False
    return (a.status is b.status or not (has_ended(a) and has_ended(b))) and same.bodies(get(a), get(b))


def _named(a: Step | None, b: Step | None) -> str:
    step = a or b
    if step is None:
        return ""
    only = " (only in the second run)" if a is None else " (only in the first run)" if b is None else ""
    return f"step {step.n} {step.name}{only}"


def _kind(pair: Iterable[Step | None]) -> Kind | None:
    return next((step.kind for step in pair if step is not None), None)


def _both_ended(pair: StepPair) -> bool:
    return all(step is None or has_ended(step) for step in pair)


def _is_final(step: Step | None) -> bool:
    return step is not None and step.kind is Kind.CHECKPOINT and step.attrs.get("final") is True


def _is_root(step: Step | None) -> bool:
    return step is not None and step.kind is Kind.AGENT and step.parent is None


def _arguments(step: Step) -> BodyRef | None:
    return step.arguments


def _found(step: Step) -> BodyRef | None:
    """What a retrieval or a read gave: a call's result, a note's body."""
    return step.result if step.is_call else step.arguments


def _result(step: Step) -> BodyRef | None:
    return step.result
