"""What a sample comes to where its child could not say it, or says the same over and over."""

from __future__ import annotations

import pytest

from agentdbg.replay.regression_verdict import OFTEN, shortened
from tests.support.regression_lab import RegressionLab

LOOP = """\
from helpers import *


@agentdbg.tool(effect="write")
def save(text):
    return post("/save", text)


@agentdbg.agent
def desk(text):
    ask([{"role": "user", "content": "v1"}])
    while True:
        try:
            return save("one")
        except Exception:
            continue


if __name__ == "__main__":
    desk("pen")
"""


@pytest.fixture
def lab(world_lab: RegressionLab) -> RegressionLab:
    return world_lab


def change(lab: RegressionLab, **new: str) -> None:
    text = lab.program.read_text(encoding="utf-8")
    for old, other in new.items():
        text = text.replace(f'"{old}"', f'"{other}"')
    lab.program.write_text(text, encoding="utf-8")


def test_findings_that_repeat_are_counted() -> None:
    each = {"step": 1, "name": "save", "key": None, "deed": "refuse", "reason": "a write"}
    other = {**each, "name": "pay"}
    assert shortened([each, other]) == [each, other]
    found = shortened([*([each] * (OFTEN + 1200)), other])
    assert found[OFTEN:] == [other, {**each, "step": None, "reason": "1,200 more like these: a write"}]


@pytest.mark.wide
def test_a_loop_around_a_refused_write_is_named_with_its_counts(lab: RegressionLab) -> None:
    lab.record(LOOP)
    change(lab, v1="v2", one="two")
    outcome = lab.regress(timeout=4)
    assert outcome.verdict == "timed_out"
    assert outcome.reason.startswith(
        "the program did not end in time; it went on to make calls that are refused: save "
    )
    assert (len(outcome.findings), outcome.live) == (OFTEN + 1, 1)
    assert outcome.denied > OFTEN
    assert sum(each.startswith("POST /save") for each in lab.world.done) == 1


def test_samples_that_were_taken_are_kept_when_a_later_one_does_not_start(lab: RegressionLab) -> None:
    lab.record(LOOP)
    change(lab, v1="v2")
    text = lab.program.read_text(encoding="utf-8")
    ahead = lab.world.calls

    def model(_: object) -> str:
        lab.program.write_text("import nothing_of_this_name\n" + text, encoding="utf-8")
        return "fine"

    lab.world.model = model
    outcome = lab.regress(samples=3)
    assert (outcome.verdict, lab.world.calls - ahead) == ("not_replayable", 1), outcome.reason
    assert [each["replay_run"] for each in outcome.samples] == ["run-1.regression-1"]
    assert (outcome.live, outcome.stability, len(outcome.touched)) == (1, "1/1", 1)
