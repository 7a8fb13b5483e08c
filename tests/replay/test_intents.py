"""The change that was meant, told apart from the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentdbg.compare.answers import six_answers
from agentdbg.compare.step_difference import ByHash
from agentdbg.compare.trajectory import compare
from agentdbg.model.records import Kind, RunStatus, RunSummary, Step
from agentdbg.replay.intents import BadIntent, Intent, changes_between, judged, parse_intent
from tests.support.memory_source import MemorySource


def run(amount: int = 1, result: int = 2, state: str = "DONE", version: str = "v1") -> MemorySource:
    versions = {"prompt": {"value": version, "origin": "recorded"}}
    source = MemorySource(RunSummary("run", RunStatus.OK, meta={"versions": versions}))  # type: ignore[dict-item]
    put = source.put
    for step in (
        Step(0, "r", Kind.AGENT, "run", arguments=put({})),
        Step(0, "t", Kind.TOOL, "pay", parent="r", arguments=put({"amount": amount}), result=put(result)),
        Step(0, "s", Kind.CHECKPOINT, "final state", parent="r", arguments=put(state), attrs={"final": True}),
    ):
        source.add(replace(step, depth=0 if step.parent is None else 1))
    return source


def answered(other: MemorySource, *texts: str) -> dict[str, tuple[str, bool | None, str]]:
    recorded = run()
    pairs = compare(recorded, other).pairs
    answers = six_answers(recorded.summary(), other.summary(), pairs, ByHash(), complete=True)
    changes = changes_between(recorded, other, pairs, ByHash())
    found = judged(answers, changes, [parse_intent(text) for text in texts])
    return {each.question: (each.changed, each.intended, each.evidence) for each in found}


def test_an_intent_is_a_kind_and_a_name() -> None:
    assert parse_intent("input.system:*") == Intent("input.system", "*")
    assert parse_intent("version:config:a.json") == Intent("version", "config:a.json")


@pytest.mark.parametrize("text", ["", "result", "result:", "outcome:pay", ":pay"])
def test_what_is_no_intent_says_how_to_write_one(text: str) -> None:
    with pytest.raises(BadIntent, match="KIND:NAME"):
        parse_intent(text)


def test_the_change_that_was_meant_is_intended_and_others_are_not() -> None:
    found = answered(run(amount=5, state="LEFT"), "arguments:pay")
    assert found["arguments"][:2] == ("yes", True)
    assert found["final"][:2] == ("yes", False)
    changed, intended, evidence = found["intended"]
    assert (changed, intended) == ("yes", False)
    assert "intended: arguments of pay" in evidence
    assert "unintended: result of final state" in evidence


def test_a_change_elsewhere_does_not_hit_the_place() -> None:
    found = answered(run(version="v2"), "result:pay")
    assert found["versions"][:2] == ("yes", False)
    assert found["intended"][:2] == ("no", False)
    assert "did not change" in found["intended"][2]


def test_with_nothing_else_the_sixth_answer_is_a_yes() -> None:
    found = answered(run(version="v2"), "version:prompt")
    assert found["versions"][:2] == ("yes", True)
    assert found["intended"][:2] == ("yes", True)


def test_without_an_intent_nothing_is_judged() -> None:
    assert answered(run(state="LEFT"))["final"][:2] == ("yes", None)
