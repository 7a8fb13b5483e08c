"""The six answers say what changed, and do not call unchanged what was not reached."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.compare.answers import Answer, six_answers
from agentdbg.compare.step_difference import ByHash
from agentdbg.compare.trajectory import compare
from agentdbg.model.records import Kind, RunStatus, RunSummary, Step
from tests.support.memory_source import MemorySource


def run(**changes: object) -> MemorySource:
    """A run with a document, a tool call and a final state; ``changes`` replace its parts."""
    parts = {"doc": "p1", "args": {"id": 1}, "result": {"price": 2}, "state": "DONE", "answer": "ok", **changes}
    versions = {"prompt": {"value": str(changes.get("prompt", "v1")), "origin": "recorded"}}
    made = MemorySource(RunSummary("run", RunStatus.OK, meta={"versions": versions}))  # type: ignore[dict-item]
    put = made.put
    for step in (
        Step(0, "r", Kind.AGENT, "run", arguments=put({}), result=put(parts["answer"])),
        Step(0, "d", Kind.RETRIEVAL, "policy", parent="r", arguments=put([parts["doc"]])),
        Step(0, "t", Kind.TOOL, "look", parent="r", arguments=put(parts["args"]), result=put(parts["result"])),
        Step(0, "s", Kind.CHECKPOINT, "final state", parent="r", arguments=put(parts["state"]), attrs={"final": True}),
    ):
        made.add(replace(step, depth=0 if step.parent is None else 1))
    return made


def answers(other: MemorySource, *, complete: bool = True) -> dict[str, Answer]:
    """By question."""
    recorded = run()
    found = compare(recorded, other, stopped=not complete)
    given = six_answers(recorded.summary(), other.summary(), found.pairs, ByHash(), complete=complete)
    assert [answer.question for answer in given][-1] == "intended"
    return {answer.question: answer for answer in given}


def changed(found: dict[str, Answer]) -> dict[str, str]:
    return {name: answer.changed for name, answer in found.items() if answer.changed != "no"}


def test_equal_runs_have_changed_nowhere() -> None:
    assert changed(answers(run())) == {}


def test_each_question_has_its_own_answer() -> None:
    for question, part in (
        ("versions", {"prompt": "v2"}),
        ("retrieved", {"doc": "p2"}),
        ("arguments", {"args": {"id": 1.0}}),
        ("results", {"result": {"price": 3}}),
        ("final", {"state": "LEFT"}),
        ("final", {"answer": "no"}),
    ):
        found = answers(run(**part))
        assert changed(found) == {question: "yes", "intended": "unknown"}, part
        assert found[question].evidence
        assert found[question].intended is None


def test_the_evidence_names_versions_and_steps() -> None:
    assert answers(run(prompt="v2"))["versions"].evidence == "prompt: v1 → v2"
    assert answers(run(args={"id": 2}))["arguments"].evidence == "step 3 look"


def test_what_was_not_reached_is_unknown() -> None:
    recorded, other = run(), run()
    del other.steps()[2:]  # type: ignore[attr-defined]
    found = compare(recorded, other, stopped=True)
    given = six_answers(recorded.summary(), other.summary(), found.pairs, ByHash(), complete=False)
    by_name = {answer.question: answer.changed for answer in given}
    assert by_name == {
        "versions": "no",
        "retrieved": "no",
        "arguments": "unknown",
        "results": "unknown",
        "final": "unknown",
        "intended": "no",
    }


def test_a_run_without_versions_and_documents_says_so() -> None:
    empty = MemorySource(RunSummary("run", RunStatus.OK))
    given = six_answers(empty.summary(), empty.summary(), (), ByHash(), complete=True)
    assert {answer.changed for answer in given[:4]} == {"unknown"}
