"""Whatever leaves this machine has passed the gate and says where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

from agentdbg.importing import open_one
from agentdbg.model.records import BodyRef, Kind, RunStatus, RunSummary, Step
from agentdbg.redaction.gate import Gate
from agentdbg.sharing.evidence import Evidence
from tests.support.memory_source import MemorySource
from tests.support.mini_swe import answer, came_back, said, write
from tests.support.refund_run import refund_run
from tests.support.secret_samples import secrets

SECRET = secrets()["openai"]


def test_a_secret_of_a_foreign_file_is_redacted_everywhere(tmp_path: Path) -> None:
    messages = [said("user", f"Use {SECRET}."), answer("c1", f"curl -H 'Authorization: Bearer {SECRET}'")]
    path = write(tmp_path / "x.json", [*messages, came_back("c1", f"key={SECRET}")], exit_status="Bad " + SECRET)
    source = open_one(path)
    evidence = Evidence(source, Gate())
    shared = [json.dumps(evidence.run_members())]
    for step in evidence.steps():
        shared.append(json.dumps(evidence.step_members(step)))
        refs = [step.arguments, step.result, *(segment.ref for segment in evidence.segments(step))]
        shared += [json.dumps(evidence.body(ref).value) for ref in refs if ref is not None]
    assert SECRET not in "".join(shared)
    assert evidence.redacted >= 3
    assert evidence.missing == 0


def test_a_recorded_run_is_shared_as_it_is() -> None:
    evidence = Evidence(refund_run(), Gate())
    for step in evidence.steps():
        for ref in (step.arguments, step.result):
            if ref is not None:
                assert not evidence.body(ref).redacted
    assert evidence.redacted == 0


def test_origins_are_told_where_they_matter(tmp_path: Path) -> None:
    source = open_one(write(tmp_path / "x.json", [said("user", "Go."), answer("c1", "ls"), came_back("c1", "out")]))
    evidence = Evidence(source, Gate())
    model = next(step for step in evidence.steps() if step.kind is Kind.MODEL)
    assert evidence.step_members(model)["origins"] == {"input": "rebuilt", "input_hash": "derived"}


def test_every_kind_of_body_has_a_form() -> None:
    source = MemorySource(RunSummary("r", RunStatus.OK))
    evidence = Evidence(source, Gate())
    assert evidence.body(source.put({"a": 1})).value == {"a": 1}
    assert evidence.body(source.put(b"plain, no JSON")).value == "plain, no JSON"
    assert evidence.body(source.put(b"\xff\x00")).value == {"base64": "/wA="}
    assert evidence.body(BodyRef("0" * 64, 1)).missing == "pruned"
    assert evidence.missing == 1


def test_a_skeleton_has_no_bodies() -> None:
    source = MemorySource(RunSummary("r", RunStatus.OK))
    step = source.add(Step(0, "w:0", Kind.TOOL, "t", arguments=source.put({"a": 1})))
    evidence = Evidence(source, Gate(), skeleton=True)
    assert step.arguments is not None
    assert evidence.body(step.arguments).missing
    assert evidence.step_members(step)["arguments"] == {"sha256": step.arguments.sha256, "size": step.arguments.size}
