"""The change that a fix is meant to make, ``--intent KIND:NAME``, told apart from the others."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentdbg.compare import answers as questions
from agentdbg.compare.answers import Answer
from agentdbg.compare.step_difference import Sameness, StepJudge, has_ended
from agentdbg.compare.trajectory import StepPair
from agentdbg.model.records import Kind, RunSummary, Step
from agentdbg.store.protocols import RunSource

KINDS = (
    *(f"input.{part}" for part in ("system", "history", "retrieved", "tool_schema", "parameters")),
    *("version", "model_id", "model_output", "arguments", "result", "order", "environment", "clock", "redaction"),
)
_CALLS = (Kind.TOOL, Kind.HTTP)
_DOCUMENTS = (Kind.RETRIEVAL, Kind.READ)
NAMED = 6


class BadIntent(Exception):
    """An intent that cannot be read; the message says how to write one."""


@dataclass(frozen=True, slots=True)
class Intent:
    """Attributes:
    name: Pattern over the names of steps, tools or versions.
    """

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        question: The one of the six that it answers; empty for what lies in a model's input or output.
        kind: As in `KINDS`.
    """

    question: str
    kind: str
    name: str
    step: int

    def words(self) -> str:
        """For people."""
        return f"{self.kind} of {self.name}" + (f" (step {self.step})" if self.step else "")


def parse_intent(text: str) -> Intent:
    """Read ``KIND:NAME``.

    Raises:
        BadIntent: It is not of that form.
    """
    kind, colon, name = text.partition(":")
    if not colon or not name or kind not in KINDS:
        raise BadIntent(f"cannot read the intent {text!r}: write KIND:NAME, KIND one of {', '.join(KINDS)}")
    return Intent(kind, name)


def changes_between(
    recorded: RunSource, replayed: RunSource, pairs: Sequence[StepPair], same: Sameness
) -> tuple[Change, ...]:
    """Everything that differs, step by step."""
    judge = StepJudge(recorded, replayed, same)
    found = list(_versions(recorded.summary(), replayed.summary()))
    for a, b in pairs:
        step = a or b
        if step is not None:
            found += _step(a, b, step, judge, same)
    return tuple(dict.fromkeys(found))


def judged(answers: Sequence[Answer], changes: Sequence[Change], intents: Sequence[Intent]) -> tuple[Answer, ...]:
    """The answers with what was intended marked, and the sixth answered."""
    if not intents:
        return tuple(answers)
    found = []
    for answer in answers:
        about = [change for change in changes if change.question == answer.question]
        if answer.question == questions.INTENDED:
            found.append(_sixth(changes, intents))
        elif answer.changed == "yes":
            found.append(replace(answer, intended=bool(about) and all(is_intended(each, intents) for each in about)))
        else:
            found.append(answer)
    return tuple(found)


def is_intended(change: Change, intents: Sequence[Intent]) -> bool:
    """Whether a change was declared."""
    return any(each.kind == change.kind and fnmatch.fnmatchcase(change.name, each.name) for each in intents)


def _sixth(changes: Sequence[Change], intents: Sequence[Intent]) -> Answer:
    meant = [each for each in changes if is_intended(each, intents)]
    others = [each for each in changes if not is_intended(each, intents)]
    words = [f"intended: {_listed(meant)}" if meant else "the intended place did not change"]
    words += [f"unintended: {_listed(others)}"] if others else []
    return Answer(questions.INTENDED, "yes" if meant else "no", not others if changes else None, "; ".join(words))


def _listed(changes: Sequence[Change]) -> str:
    more = f" and {len(changes) - NAMED} more" if len(changes) > NAMED else ""
    return ", ".join(each.words() for each in changes[:NAMED]) + more


def _versions(left: RunSummary, right: RunSummary) -> Iterator[Change]:
    a, b = (summary.meta.get("versions") for summary in (left, right))
    a, b = (each if isinstance(each, Mapping) else {} for each in (a, b))
    for name in {**a, **b}:
        values = [about.get("value") if isinstance(about, Mapping) else about for about in (a.get(name), b.get(name))]
        if values[0] != values[1]:
            yield Change(questions.VERSIONS, "version", name, 0)


def _step(a: Step | None, b: Step | None, step: Step, judge: StepJudge, same: Sameness) -> Iterator[Change]:
    if step.kind is Kind.CHECKPOINT and step.attrs.get("final") is True:
        if a is None or b is None or not same.bodies(a.arguments, b.arguments):
            yield Change(questions.FINAL, "result", "final state", step.n)
    elif step.kind is Kind.AGENT and step.parent is None:
        if a is not None and b is not None and has_ended(a) and has_ended(b) and not same.bodies(a.result, b.result):
            yield Change(questions.FINAL, "result", "final answer", step.n)
    elif step.kind in _DOCUMENTS:
        if a is None or b is None or not same.bodies(a.result or a.arguments, b.result or b.arguments):
            yield Change(questions.RETRIEVED, "input.retrieved", step.name, step.n)
    elif step.kind in _CALLS or step.kind is Kind.MODEL:
        yield from _call(a, b, step, judge)


def _call(a: Step | None, b: Step | None, step: Step, judge: StepJudge) -> Iterator[Change]:
    is_model = step.kind is Kind.MODEL
    if a is None or b is None:
        yield Change("" if is_model else questions.ARGUMENTS, "order" if is_model else "arguments", step.name, step.n)
        return
    asked = judge.intent(a, b)
    if asked is not None:
        yield Change("" if is_model else questions.ARGUMENTS, asked.cause, step.name, step.n)
    if has_ended(a) and has_ended(b) and judge.outcome(a, b) is not None:
        question, kind = ("", "model_output") if is_model else (questions.RESULTS, "result")
        yield Change(question, kind, step.name, step.n)
