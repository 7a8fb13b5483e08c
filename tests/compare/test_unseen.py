"""Effects that no seam saw, read from their steps, whatever stands in there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentdbg.compare.unseen import uncovered_count, unseen, unseen_in
from agentdbg.model.records import Kind, RunStatus, RunSummary, Step
from tests.support.memory_source import plain_steps, run_of

ATTRS: dict[str, Any] = {
    "event": "open",
    "detail": "{root}/a",
    "frame": "{root}/x.py:3 f",
    "covered": False,
    "count": 3,
    "under": "agent",
}


def effect(**attrs: Any) -> Step:
    return replace(plain_steps(1)[0], kind=Kind.EFFECT, name="open {root}/a", attrs={**ATTRS, **attrs})


def test_an_effect_in_words() -> None:
    found = unseen(effect())
    assert found is not None
    assert (found.what, found.place, found.uncovered) == ("file written {root}/a", "{root}/x.py:3 f, 3 times", True)
    other = unseen(effect(event="os.unheard_of", count=1))
    assert other is not None and (other.what, other.place) == ("os.unheard_of {root}/a", "{root}/x.py:3 f")


def test_covered_and_temporary_ones_are_not_uncovered() -> None:
    for attrs in ({"covered": True}, {"weight": "temporary"}):
        found = unseen(effect(**attrs))
        assert found is not None and not found.uncovered


def test_what_is_none_and_what_is_damaged() -> None:
    assert unseen(plain_steps(1)[0]) is None
    assert unseen(replace(effect(), attrs={})) is None
    wrong: Any
    for wrong in (None, -1, "many", [1], {}):
        found = unseen(effect(event=wrong, detail=wrong, frame=wrong, count=wrong, contradicts=wrong, covered=wrong))
        assert found is not None and found.count == 1 and found.uncovered


def test_the_effects_of_a_run() -> None:
    assert [found.step.n for found in unseen_in(run_of([*plain_steps(2), effect(), effect()]))] == [3, 4]


def test_the_count_at_the_end_of_a_run() -> None:
    run = RunSummary("r", RunStatus.OK)
    assert uncovered_count(run) is None
    assert [uncovered_count(replace(run, meta={"uncovered": n})) for n in (0, 7, -1, "x", True)] == [
        0,
        7,
        None,
        None,
        None,
    ]
