"""Regression replays that restore a checkpoint instead of running up to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentdbg.model.records import Kind
from agentdbg.replay.edits import BadEdit, parse_edit
from agentdbg.replay.outcome import Outcome
from agentdbg.replay.plan import Plan, plan_regression
from agentdbg.replay.regression import RegressionOptions, regression
from agentdbg.replay.restore import RESTORE
from agentdbg.replay.run import ReplayOptions, ReplayRefused
from agentdbg.store.address import open_store
from tests.support.regression_lab import RegressionLab

DESK = """\
from helpers import *


@agentdbg.tool(effect="read")
def price(item):
    return json.loads(get("/" + item))


@agentdbg.tool(effect="external", idempotency_key="key")
def pay(item, amount, key):
    return post("/pay", f"{item} {amount} {key}")


def settle(state, node):
    answer = ask([{"role": "user", "content": f"{state['item']} {state['amount']}"}])
    if answer["content"] == "pay":
        pay(state["item"], state["amount"], key="order-7")
    agentdbg.final_state("PAID" if answer["content"] == "pay" else "ASKED")
    return answer["content"]


@agentdbg.agent(resume=settle)
def desk(item):
    amount = price(item)["amount"]
    state = {"item": item, "amount": amount}
    agentdbg.checkpoint("priced", state, can_resume=True)
    return settle(state, "priced")


if __name__ == "__main__":
    desk("pen")
"""


@pytest.fixture
def lab(world_lab: RegressionLab) -> RegressionLab:
    world_lab.world.facts["pen"] = '{"amount": 5}'
    world_lab.world.model = cashier
    return world_lab


def cashier(body: dict[str, Any]) -> str:
    """Pays what is below ten."""
    return "pay" if int(body["messages"][-1]["content"].split()[-1]) < 10 else "ask"


def priced(lab: RegressionLab) -> int:
    """Number of the checkpoint's step."""
    source = lab.run()
    try:
        return next(step.n for step in source.steps() if step.kind is Kind.CHECKPOINT)
    finally:
        source.close()


def options(lab: RegressionLab, **more: Any) -> RegressionOptions:
    """A regression from the checkpoint on, restored."""
    common = ReplayOptions("audit", 60, False, (), open_store(str(lab.store)), prefix=RESTORE)
    return RegressionOptions(common, **{"start": priced(lab), **more})


def restore(lab: RegressionLab, **more: Any) -> Outcome:
    source = lab.run()
    with lab.untouched(Path(source.root)), pytest.MonkeyPatch.context() as patch:
        for name, value in lab.environment().items():
            if name in ("WORLD", "OUTSIDE", "AGENTDBG_DEBUG"):
                patch.setenv(name, value)
        try:
            return regression(source, options(lab, **more))
        finally:
            source.close()


def foreseen(lab: RegressionLab, **more: Any) -> Plan:
    source = lab.run()
    try:
        return plan_regression(source, options(lab, **more))
    finally:
        source.close()


def test_a_restored_regression_asks_the_model_again_and_pays_nothing(lab: RegressionLab) -> None:
    lab.record(DESK)
    done, calls, number = list(lab.world.done), lab.world.calls, priced(lab)
    outcome = restore(lab)
    assert outcome.verdict == "same", (outcome.reason, outcome.log)
    assert outcome.reason.startswith(f"restored at step {number}: ")
    assert (lab.world.calls, lab.world.done) == (calls + 1, done)
    assert (outcome.from_step, outcome.live, outcome.served) == (number, 1, 1)


def test_an_edited_state_is_what_the_agent_goes_on_from(lab: RegressionLab) -> None:
    lab.record(DESK)
    number = priced(lab)
    outcome = restore(lab, edits=(parse_edit(f"{number}:state.amount=50"),))
    assert outcome.verdict == "changed", outcome.reason
    assert [dict(each)["value"] for each in outcome.edits] == [50]
    with pytest.raises(BadEdit, match="that is not met again"):
        restore(lab, edits=(parse_edit("2:result.amount=50"),))


def test_the_plan_shows_what_is_skipped_and_what_stands_in_the_way(lab: RegressionLab) -> None:
    lab.record(DESK)
    plan = foreseen(lab)
    assert [(row.name, row.what) for row in plan.rows] == [("price", "skip"), ("m", "live"), ("pay", "serve")]
    assert plan.obstacles == ()
    plan = foreseen(lab, start=2)
    assert [(row.name, row.what) for row in plan.rows] == [
        ("price", "live with drift check"),
        ("m", "live"),
        ("pay", "serve"),
    ]
    assert [each.text for each in plan.obstacles] == [
        "step 2 is no checkpoint but tool price: checkpoints are steps 4, 8"
    ]
    with pytest.raises(ReplayRefused, match="is no checkpoint"):
        restore(lab, start=2)
