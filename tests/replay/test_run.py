"""What is refused before anything runs, what cannot be replayed, and where a replay goes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from agentdbg.replay.outcome import Outcome
from agentdbg.replay.run import ReplayRefused
from tests.support.replay_lab import ReplayLab, tree

PROGRAM = """\
import datetime, os
import agentdbg

@agentdbg.tool(effect="read")
def look(order):
    with open(os.environ["OUTSIDE"] + "/ledger", "a") as file:
        file.write("look\\n")
    return {"order": order, "phone": "13812345678", "key": "sk-proj-" + "Ab1" * 16}

@agentdbg.tool(effect="external")
def call(phone, key):
    return f"called {phone}"

@agentdbg.agent
def run(order):
    found = look(order)
    agentdbg.checkpoint("read", {"status": "READ", "found": found})
    answer = call(found["phone"], found["key"])
    agentdbg.final_state("DONE")
    return answer

if __name__ == "__main__":
    print(run("o-1 of 13987654321"))
"""


def test_a_run_of_somebody_else_is_refused_unless_trusted(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    path = lab.store / "runs" / "run-1" / "run.json"
    meta = json.loads(path.read_text())
    for changed in (
        {**meta, "seal": "0" * 64},
        {key: value for key, value in meta.items() if key != "seal"},
        {**meta, "entry": {**meta["entry"], "argv": ["x"]}},
        {**meta, "entry": {**meta["entry"], "roots": {"root": "/", "venv": "/", "home": "/"}}},
        {**meta, "entry": {key: value for key, value in meta["entry"].items() if key != "roots"}},
    ):
        path.write_text(json.dumps(changed))
        with pytest.raises(ReplayRefused, match=r"not recorded by this user.*--trust"):
            lab.replay()
    path.write_text(json.dumps({**meta, "seal": "0" * 64}))
    assert lab.replay(trust=True).verdict == "identical"
    assert {entry.name for entry in (lab.store / "runs").iterdir()} == {"run-1", "run-1.exact-1"}


def test_unsealed_roots_choose_no_interpreter(lab: ReplayLab, tmp_path: Path) -> None:
    lab.record(PROGRAM)
    path = lab.store / "runs" / "run-1" / "run.json"
    meta = json.loads(path.read_text())
    fake = tmp_path / "venv" / "bin" / "python"
    fake.parent.mkdir(parents=True)
    fake.write_text(f"#!/bin/sh\ntouch {lab.outside}/started\n")
    fake.chmod(0o755)
    path.write_text(json.dumps({**meta, "roots": {**meta["roots"], "venv": str(tmp_path / "venv")}}))
    assert lab.replay().verdict == "identical"


def test_a_replay_is_a_run_that_can_be_replayed(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    first = lab.replay()
    assert first.verdict == "identical", first.reason
    made = lab.run(str(first.replay_run))
    summary = made.summary()
    assert (summary.mode, summary.replay_of, summary.verdict) == ("exact", "run-1", "identical")
    assert summary.meta["outcome"]["replay_run"] == first.replay_run  # type: ignore[index,call-overload]
    second = lab.replay(str(first.replay_run))
    assert second.verdict == "identical", second.reason
    assert lab.run(str(second.replay_run)).summary().replay_of == first.replay_run


def test_two_replays_at_once_get_two_ids(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    found: list[Outcome] = []
    threads = [threading.Thread(target=lambda: found.append(lab.replay())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.verdict for outcome in found] == ["identical"] * 3
    assert {outcome.replay_run for outcome in found} == {f"run-1.exact-{n}" for n in (1, 2, 3)}


def test_a_store_that_cannot_be_written_is_no_obstacle(lab: ReplayLab, tmp_path: Path, isolated_user: Path) -> None:
    lab.record(PROGRAM)
    shared = tmp_path / "shared"
    lab.store.rename(shared)
    lab.store = shared
    (shared / "runs").rename(shared / "kept")
    (shared / "runs").symlink_to(shared / "kept", target_is_directory=True)
    before = tree(shared)
    blocked = tmp_path / "blocked"
    (blocked / "runs").parent.mkdir()
    (blocked / "runs").write_text("no directory")
    source = shared / "kept" / "run-1"
    outcome = lab.replay(str(source), store=blocked)
    assert outcome.verdict == "identical"
    assert tree(shared) == before
    assert any("cannot be written" in note for note in outcome.notes)
    own = isolated_user / ".local" / "share" / "agentdbg" / "store"
    assert (own / "runs" / str(outcome.replay_run) / "run.json").exists()


def test_missing_bodies_are_named(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    for path in (lab.store / "runs" / "run-1" / "bodies").iterdir():
        lines = path.read_bytes().split(b"\n")
        kept = [line for line in lines if b"called" not in line]
        path.write_bytes(b"\n".join(kept))
    outcome = lab.replay()
    assert outcome.verdict == "not_replayable"
    assert "step 5 (call)" in outcome.reason
    assert not any(path.name != "run-1" for path in (lab.store / "runs").iterdir())


def test_the_outcome_document_has_every_member(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    members = lab.replay().members()
    promised = (
        "mode source_run replay_run from_step verdict first_divergence cause answers counts hit_rate rules_used "
        "uncovered_effects contained_writes guard drift samples"
    )
    assert set(promised.split()) <= set(members)
    assert set(members["counts"]) == {"served", "live", "dry_run", "refused", "tolerated", "unconsumed"}  # type: ignore[call-overload]
    assert members["hit_rate"] == 1.0
    answers = members["answers"]
    assert isinstance(answers, list)
    assert [answer["question"] for answer in answers] == [
        "versions",
        "retrieved",
        "arguments",
        "results",
        "final",
        "intended",
    ]
    assert {answer["changed"] for answer in answers if answer["question"] in ("arguments", "results", "final")} == {
        "no"
    }
    json.dumps(members)


def test_a_program_without_a_root_is_told_what_it_lacks(lab: ReplayLab) -> None:
    lab.record('import agentdbg\n\n@agentdbg.tool(effect="read")\ndef look():\n    return 1\n\nlook()\n')
    outcome = lab.replay()
    assert (outcome.verdict, "no @agentdbg.agent" in outcome.reason) == ("not_replayable", True)


OBJECTS = """\
from dataclasses import dataclass
import agentdbg

@dataclass
class State:
    budget: int

@agentdbg.tool(effect="write")
def put(state):
    return None

@agentdbg.tool(effect="read")
def get():
    return 1

@agentdbg.agent
def run():
    state = State(get() + 94)
    agentdbg.checkpoint("done", state)
    put(state)
    return "done"

if __name__ == "__main__":
    run()
"""


def test_objects_with_declared_members_are_compared_by_them(lab: ReplayLab) -> None:
    lab.record(OBJECTS)
    assert lab.replay().verdict == "identical"
    lab.write(OBJECTS.replace("+ 94", "+ 93"))
    at = lab.replay().first_divergence
    assert at is not None and (at.kind, at.path, at.expected, at.got) == ("checkpoint", "$.budget", "95", "94")


def test_an_object_as_a_result_is_served_as_what_it_was(lab: ReplayLab) -> None:
    lab.record(OBJECTS.replace("return 1", "return State(1)").replace("get() + 94", "get().budget"))
    outcome = lab.replay()
    assert outcome.verdict == "identical", outcome.reason


COVERED = """\
import os, threading
import agentdbg

@agentdbg.tool(effect="write")
def save(number):
    def write():
        with open(f"{os.environ['OUTSIDE']}/{number}", "w") as file:
            file.write("saved")
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    return number

@agentdbg.tool(effect="none")
def add(number):
    return number + 1

@agentdbg.agent
def run(count):
    threads = [threading.Thread(target=add, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
        thread.join()
    return sum(save(n) for n in range(count))

if __name__ == "__main__":
    run(3)
"""


def test_effects_inside_calls_keep_a_replay_identical(lab: ReplayLab) -> None:
    lab.record(COVERED)
    assert [step.kind.value for step in lab.run().steps()].count("effect") == 3
    for _ in range(3):
        outcome = lab.replay()
        assert (outcome.verdict, outcome.uncovered, outcome.refused) == ("identical", (), ())


def test_effects_beside_the_calls_are_told_from_the_record_and_stopped(lab: ReplayLab) -> None:
    beside = "    open(os.environ['OUTSIDE'] + '/beside', 'w').close()\n    return sum"
    lab.record(COVERED.replace("    return sum", beside))
    outcome = lab.replay()
    assert outcome.verdict == "refused"
    (found,) = outcome.uncovered
    assert (found["effect"], str(found["frame"]).rpartition(" ")[2]) == ("open", "run")
    listed = outcome.members()["uncovered_effects"]
    assert isinstance(listed, list) and [each["effect"] for each in listed] == ["open", "open"]
