"""A run from a foreign file: inputs share what was said before, bodies are made from it on demand."""

from __future__ import annotations

import pytest

from agentdbg.importing.imported_run import Bodies, Draft, ImportedRun
from agentdbg.model.hashing import chain, sha256_hex
from agentdbg.model.records import BodyRef, Json, Kind, Origin, RunStatus, RunSummary, Step
from agentdbg.store.notes import append
from agentdbg.store.protocols import BodyMissing


def test_a_body_is_named_by_the_hash_of_its_bytes() -> None:
    bodies = Bodies()
    values: list[Json] = [{"a": [1, 2.5, None]}, "lone \ud800", 2**80, float("nan"), {"$": 1}]
    for value in values:
        ref = bodies.put(value)
        assert sha256_hex(bodies.read(ref)) == ref.sha256
        assert len(bodies.read(ref)) == ref.size
    with pytest.raises(BodyMissing):
        bodies.read(BodyRef("0" * 64, 1))


def test_the_input_of_a_call_is_a_beginning_of_the_conversation() -> None:
    draft = Draft()
    draft.add(Step(0, "", Kind.AGENT, "a"))
    digest = ""
    for number in range(3):
        ref = draft.say("message", "user", {"content": number})
        digest = chain(digest, "message", ref.sha256)
        draft.add_model(Step(0, "", Kind.MODEL, "m"))
    source = ImportedRun(draft, RunSummary("r", RunStatus.OK), "file:x")
    calls = [step for step in source.steps() if step.kind is Kind.MODEL]
    assert [len(source.segments(step)) for step in calls] == [1, 2, 3]
    assert calls[-1].input_hash == digest
    assert source.segments(source.steps()[0]) == []


def test_origins_are_derived_rebuilt_recorded_or_absent() -> None:
    draft = Draft()
    draft.say("message", "user", {"content": "Go."})
    step = draft.add_model(Step(0, "", Kind.MODEL, "m", latency_ms=3.0, attrs={"x": 1}), {"latency_ms": Origin.DERIVED})
    source = ImportedRun(draft, RunSummary("r", RunStatus.OK), "file:x")
    expected = {
        "input": Origin.REBUILT,
        "input_hash": Origin.DERIVED,
        "latency_ms": Origin.DERIVED,
        "name": Origin.RECORDED,
        "attrs.x": Origin.RECORDED,
        "attrs.y": Origin.ABSENT,
        "fingerprint": Origin.ABSENT,
        "started_at": Origin.ABSENT,
        "result": Origin.ABSENT,
    }
    assert {name: source.origin(step, name) for name in expected} == expected


def test_a_flag_set_later_is_shown() -> None:
    source = ImportedRun(Draft(), RunSummary("r", RunStatus.OK), "file:x")
    assert source.summary().flag is None
    append("file:x", "r", None, {"e": "flag", "reason": "bad"})
    assert source.summary().flag == "bad"


def test_a_problem_is_one_harmless_line() -> None:
    draft = Draft(problems=["a\nb\x1b[2J" + "x" * 5000])
    (line,) = ImportedRun(draft, RunSummary("r", RunStatus.OK), "file:x").problems()
    assert len(line) < 600
    assert line.isprintable()


def test_an_endless_name_is_cut() -> None:
    assert len(Draft().add(Step(0, "", Kind.TOOL, "x" * 10_000)).name) < 300
