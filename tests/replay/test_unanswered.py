"""A regression replay whose model cannot be asked says so, instead of taking what the agent does then for a change."""

from __future__ import annotations

import pytest

from tests.support.regression_lab import RegressionLab

PROGRAM = """\
import agentdbg
from helpers import ask, get


@agentdbg.tool(effect="read")
def look(item):
    return get("/" + item)


@agentdbg.agent
def desk(item):
    try:
        answer = ask([{"role": "user", "content": "look up " + item}])
    except Exception:
        answer = {}
    if answer.get("tool_calls"):
        return {"found": look(item)}
    return {"found": None}


if __name__ == "__main__":
    desk("pen")
"""


@pytest.fixture
def lab(world_lab: RegressionLab) -> RegressionLab:
    world_lab.world.facts["pen"] = "blue"
    world_lab.world.model = lambda body: ("look", {"item": "pen"})
    return world_lab


def changed(lab: RegressionLab) -> None:
    text = lab.program.read_text(encoding="utf-8")
    lab.program.write_text(text.replace("look up ", "please look up "), encoding="utf-8")


@pytest.mark.parametrize("status", [401, 503])
def test_a_provider_that_does_not_look_at_the_request_tells_nothing_of_a_change(
    lab: RegressionLab, status: int
) -> None:
    lab.record(PROGRAM)
    changed(lab)
    lab.world.status = status
    lab.world.model = lambda body: "come back later"
    outcome = lab.regress(samples=3)
    assert outcome.verdict == "needs_data", outcome.reason
    assert f"the model could not be asked (step 2, model m: HTTP {status})" in outcome.reason
    assert outcome.stability is None
    assert len(outcome.samples) == 1


def test_a_model_that_is_not_there_tells_nothing_of_a_change(lab: RegressionLab) -> None:
    lab.record(PROGRAM)
    changed(lab)
    lab.world.close()
    outcome = lab.regress()
    assert outcome.verdict == "needs_data", outcome.reason
    assert "ConnectError" in outcome.reason


@pytest.mark.wide
def test_a_request_that_is_refused_as_such_is_an_answer(lab: RegressionLab) -> None:
    lab.record(PROGRAM)
    changed(lab)
    lab.world.status = 400
    lab.world.model = lambda body: "no such parameter"
    assert lab.regress().verdict == "changed"


def test_a_call_that_succeeds_when_tried_again_was_answered(lab: RegressionLab) -> None:
    lab.record(PROGRAM)
    changed(lab)
    text = lab.program.read_text(encoding="utf-8")
    text = text.replace("        answer = ask(", "        for _ in range(2):\n            answer = ask(")
    lab.program.write_text(text, encoding="utf-8")
    statuses = iter([503, 200])

    def model(body: object) -> str | tuple[str, dict[str, str]]:
        lab.world.status = next(statuses)
        return ("look", {"item": "pen"}) if lab.world.status == 200 else ""

    lab.world.model = model
    outcome = lab.regress()
    assert outcome.verdict == "same", outcome.reason
