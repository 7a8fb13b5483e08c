"""Replays that go on from an edited value: what follows from it, said wherever the replay is spoken of."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentdbg.model.records import Kind
from agentdbg.replay.edits import BadEdit, parse_edit
from agentdbg.replay.plan import plan_exact
from agentdbg.replay.run import ReplayOptions
from agentdbg.store.address import open_store
from tests.support.http_lab import HttpLab
from tests.support.regression_lab import RegressionLab
from tests.support.replay_lab import ReplayLab
from tests.support.scripted_server import Reply

PROGRAM = """\
import agentdbg

@agentdbg.tool(effect="read")
def look(order):
    return {"id": order, "total": 120, "note": "paid"}

@agentdbg.tool(effect="write")
def refund(order, amount):
    return "paid"

@agentdbg.tool(effect="read")
def check(order):
    raise LookupError("no such order")

def resume(state, node):
    return settle(state)

def settle(state):
    if state["total"] > 100:
        refund(state["id"], 100)
    return state["total"] > 100

@agentdbg.agent(resume=resume)
def run(order, limit=100):
    found = look(order)
    agentdbg.checkpoint("found", found, can_resume=True)
    if found["total"] > limit:
        refund(order, 100)
    try:
        return check(order)
    except LookupError:
        return found["total"] > limit

if __name__ == "__main__":
    run("o-1")
"""
"""Steps: 1 agent, 2 look, 3 checkpoint, 4 refund, 5 check, which failed."""


def test_an_exact_replay_goes_on_from_an_edited_result(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    same = lab.replay(edits=["2:result.note=new", "2:result.total=120"])
    assert same.verdict == "diverged"  # the checkpoint holds it
    assert same.first_divergence is not None
    assert (same.first_divergence.step, same.first_divergence.path) == (3, "$.note")
    assert 'edited before: 2:result.note="new"; 2:result.total=120' in same.reason
    other = lab.replay(edits=["2:result.total=7"])
    assert other.first_divergence is not None and other.first_divergence.step == 3
    failed = lab.replay(edits=["5:result=false"])
    assert failed.first_divergence is not None and failed.first_divergence.step == 1
    made = lab.run(str(failed.replay_run))
    assert made.summary().meta["edits"] == [{"step": 5, "path": "result", "value": False}]
    assert failed.members()["edits"] == made.summary().meta["edits"]
    assert made.steps()[4].attrs["edited"] is True


def test_nothing_may_follow_from_an_edit_and_the_verdict_says_that_there_was_one(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    for edit in ("5:result=true", '4:result={"sum": 100}', "1:arguments.limit=99", "1:arguments.limit=100"):
        found = lab.replay(edits=[edit])
        assert found.verdict == "identical", found.reason
        assert found.reason.startswith(f"identical but for what was edited ({parse_edit(edit).words()}): every step")
    changed = lab.replay(edits=["1:arguments.limit=500"])
    assert changed.first_divergence is not None and changed.first_divergence.step == 4


def test_a_restored_state_is_edited_in_an_exact_replay_too(lab: ReplayLab) -> None:
    lab.record(PROGRAM.replace("        return check(order)\n", "        return found['total'] > 100\n"))
    plain = lab.replay(from_step=3, prefix="restore")
    assert plain.verdict == "identical", plain.reason
    found = lab.replay(from_step=3, prefix="restore", edits=["3:state.total=5"])
    assert found.verdict == "diverged" and "edited before: 3:state.total=5" in found.reason
    assert found.first_divergence is not None and found.first_divergence.step == 4
    for edit in ("2:result.total=5", "1:arguments.order=x"):
        with pytest.raises(BadEdit, match="restored at step 3"):
            lab.replay(from_step=3, prefix="restore", edits=[edit])


def test_an_edit_that_an_exact_replay_cannot_make_starts_nothing(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    for edit, words in (
        ("2:arguments.order=x", "a regression replay can make the call"),
        ("3:state.total=5", "--prefix restore"),
        ("9:result=1", "steps 1 to 5"),
        ("2:result.totals=5", "there is id, total, note"),
    ):
        with pytest.raises(BadEdit, match=words):
            lab.replay(edits=[edit])
    assert [place.name for place in (lab.store / "runs").iterdir()] == ["run-1"]


def test_the_plan_of_an_exact_replay_tells_its_edits(lab: ReplayLab) -> None:
    lab.record(PROGRAM)
    options = ReplayOptions("audit", 30, False, (), open_store(str(lab.store)), edits=(parse_edit("2:result.total=7"),))
    found = plan_exact(lab.run(), options)
    assert [remark.text for remark in found.remarks if remark.about == "edit"] == ["2:result.total=7"]
    assert [row.why for row in found.rows][:2] == ["its outcome, edited", "its recorded outcome"]


STREAMED = """\
import os
import agentdbg
import openai

@agentdbg.agent
def run():
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{os.environ['PORT']}/v1", api_key="k", max_retries=0)
    asked = [{"role": "user", "content": "how much?"}]
    pieces = client.chat.completions.create(model="m", messages=asked, stream=True)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    agentdbg.checkpoint("said", {"text": text})
    return text

if __name__ == "__main__":
    run()
"""


@pytest.mark.parametrize("zipped", [False, True])
def test_a_streamed_answer_is_edited(tmp_path: Path, zipped: bool) -> None:
    lab = HttpLab(tmp_path)
    lab.provider.script(Reply(text="Pay five, and no more than that.", gzip=zipped))
    lab.record(STREAMED)
    path = "result.choices[0].message.content"
    found = lab.replay_without_server(edits=[f"2:{path}=Pay nothing."])
    assert found.first_divergence is not None
    assert (found.first_divergence.step, found.first_divergence.got) == (3, "Pay nothing.")
    model = lab.run(str(found.replay_run)).steps()[1]
    assert model.attrs["edited"] is True and model.result is not None
    with pytest.raises(BadEdit, match="did not come in pieces"):
        lab.replay(edits=["2:result.model=other"])


WHOLE = """\
from helpers import *

@agentdbg.tool(effect="read")
def look(order, deep=False):
    return get("/" + order)

@agentdbg.tool(effect="write", dry_run=lambda order, amount: f"would pay {amount}")
def refund(order, amount):
    return post("/refunds", str(amount))

@agentdbg.agent
def run(order):
    said = ask([{"role": "user", "content": "how much?"}])["content"]
    state = look(order)
    paid = refund(order, 5)
    agentdbg.checkpoint("end", {"said": said, "state": state, "paid": paid})
    return {"state": state}

if __name__ == "__main__":
    run("o-1")
"""
"""Steps: 1 agent, 2 model, 3 look (with its request), then refund, whose request is inside."""


@pytest.fixture
def world(tmp_path: Path, byte_code: Path, monkeypatch: pytest.MonkeyPatch) -> RegressionLab:
    """A laboratory with a model."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(byte_code))
    return RegressionLab(tmp_path)


def test_the_arguments_of_a_tool_are_edited_in_a_regression(world: RegressionLab) -> None:
    world.world.facts = {"o-1": "open", "o-2": "closed"}
    world.record(WHOLE)
    steps = {step.name: step.n for step in world.run().steps() if step.kind is Kind.TOOL}
    done = len(world.world.done)
    for start in (None, steps["refund"]):
        edits = (
            parse_edit(f"{steps['look']}:arguments.order=o-2"),
            parse_edit(f"{steps['refund']}:arguments.amount=9"),
        )
        found = world.regress(start=start, edits=edits)
        assert found.verdict == "changed", found.reason
        replayed = world.run(str(found.replay_run))
        end = next(step for step in replayed.steps() if step.kind is Kind.CHECKPOINT)
        assert end.arguments is not None
        assert b'"state":"closed","paid":"would pay 9"' in replayed.body(end.arguments)
        assert [each["deed"] for each in found.findings if each["deed"] == "edit"] == ["edit", "edit"]
        assert [each["step"] for each in found.edits] == [steps["look"], steps["refund"]]
        assert not any("not used" in note for note in found.notes)
    assert not any(each.startswith("POST") for each in world.world.done[done:])  # nothing was paid


def test_an_edit_that_was_not_come_to_is_told(world: RegressionLab) -> None:
    world.world.facts = {"o-1": "open"}
    world.record(WHOLE)
    number = next(step.n for step in world.run().steps() if step.name == "refund")
    world.write(WHOLE.replace("paid = refund(order, 5)", "paid = None"))
    for edit in (f"{number}:arguments.amount=9", f"{number}:result=7"):
        found = world.regress(start=2, edits=(parse_edit(edit),))
        assert any(f"not used: the edit of step {number}, tool refund" in note for note in found.notes), found.notes


def test_the_result_of_a_request_is_edited_with_its_length(
    world: RegressionLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record(WHOLE)
    model = next(step.n for step in world.run().steps() if step.kind is Kind.MODEL)
    long = "A much longer answer than the one that was recorded, so that its length is another. " * 3
    monkeypatch.setenv("WORLD", "1")
    found = world.replay(edits=[f"{model}:result.choices[0].message.content={long}"])
    assert found.first_divergence is not None and found.first_divergence.got.startswith("A much longer")
