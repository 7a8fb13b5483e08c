"""What is shown before a replay is started: what stands in the way, what differs, what happens to each call."""

from __future__ import annotations

import json

import pytest

from agentdbg.model.records import Json
from agentdbg.replay.plan import Plan, plan_exact, plan_regression
from agentdbg.replay.regression import RegressionOptions
from agentdbg.replay.run import ReplayOptions
from agentdbg.replay.sandbox import Sandbox
from agentdbg.store.address import open_store
from tests.support.replay_lab import ReplayLab
from tests.support.replay_sessions import DESK


def options(lab: ReplayLab, guard: str = "auto", **more: bool) -> ReplayOptions:
    return ReplayOptions(guard, 30, more.get("trust", False), (), open_store(str(lab.store)))


def exact(lab: ReplayLab, guard: str = "auto") -> Plan:
    source = lab.run()
    try:
        return plan_exact(source, options(lab, guard))
    finally:
        source.close()


def about(plan: Plan, name: str) -> list[str]:
    return [remark.text for remark in plan.remarks if remark.about == name]


def change(lab: ReplayLab, **members: Json) -> None:
    file = lab.store / "runs" / "run-1" / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))


def test_every_recorded_call_is_served(lab: ReplayLab) -> None:
    lab.record(DESK)
    plan = exact(lab)
    assert [(row.step, row.name, row.effect, row.what) for row in plan.rows] == [
        (2, "look", "read", "serve"),
        (3, "refund", "write", "serve"),
        (5, "check", "read", "serve"),
    ]
    assert plan.rows[2].why == "its recorded error"
    assert plan.counts == {"serve": 3}
    assert (plan.obstacles, plan.trusted) == ((), True)
    assert "run of" in plan.command and "program.py" in plan.command
    members = plan.members()
    assert json.loads(json.dumps(members))["plan"][0]["step"] == 2
    assert not list(lab.outside.glob("mine"))


def test_a_regression_says_what_goes_live(lab: ReplayLab) -> None:
    lab.record(DESK)
    source = lab.run()
    plan = plan_regression(source, RegressionOptions(options(lab), start=3))
    source.close()
    assert [row.what for row in plan.rows] == ["serve", "serve", "live with drift check"]
    assert plan.rows[0].why.startswith("before the checkpoint")
    assert "refused" in plan.rows[1].why
    assert plan.from_step == 3


def test_a_sandbox_is_planned_as_it_is_used(lab: ReplayLab) -> None:
    lab.record(DESK)
    source = lab.run()
    hosts = ("127.0.0.1:9", "127.0.0.1:9")
    plan = plan_regression(source, RegressionOptions(options(lab), sandbox=Sandbox("s", {}, hosts, ("refund",))))
    source.close()
    (refund,) = (row for row in plan.rows if row.name == "refund")
    assert (refund.then, refund.why) == ("live", "in the sandbox")  # with other arguments too
    assert about(plan, "open") == ["may be reached: 127.0.0.1:9"]


def test_what_stands_in_the_way_comes_first(lab: ReplayLab) -> None:
    lab.record(DESK)
    change(lab, seal="0" * 64)
    (found,) = exact(lab).obstacles
    assert (found.about, "--trust" in found.text) == ("trust", True)
    source = lab.run()
    assert plan_exact(source, options(lab, trust=True)).obstacles == ()
    source.close()
    change(lab, entry={})
    plan = exact(lab)
    assert plan.remarks[0].about == "entry"
    assert any("only the evidence tier" in text for text in about(plan, "entry"))


def test_missing_bodies_and_guards_are_named(lab: ReplayLab) -> None:
    lab.record(DESK)
    for file in (lab.store / "runs" / "run-1" / "bodies").iterdir():
        file.write_text("")
    plan = exact(lab, "audit")
    assert any("look" in text for text in about(plan, "body"))
    assert {remark.about for remark in plan.obstacles} >= {"body"}
    assert about(plan, "guard") == ["the audit hook alone: code below Python is not held"]


def test_what_differs_here_is_named(lab: ReplayLab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.record(DESK, env={"SHOP_MODE": "night", "SHOP_API_KEY": "abc"})
    monkeypatch.delenv("SHOP_MODE", raising=False)
    differs = about(exact(lab), "differs")
    assert any("SHOP_MODE" in text for text in differs)
    assert any("SHOP_API_KEY" in text and "dummy" in text for text in differs)


def test_effects_that_no_seam_served(lab: ReplayLab) -> None:
    lab.record(DESK.replace('print("begins", flush=True)', "open(os.environ['OUTSIDE'] + '/mine', 'w').close()"))
    found = [remark for remark in exact(lab).remarks if remark.about == "effect"]
    assert len(found) == 1
    assert "mine" in found[0].text and found[0].step is not None


def test_a_record_that_breaks_off_ends_there(lab: ReplayLab) -> None:
    lab.record(DESK.replace('return "paid"', "os._exit(9)"), ok=False)
    plan = exact(lab)
    assert [row.what for row in plan.rows] == ["serve", "end"]
