"""The list of steps is a lazy, live sequence."""

from __future__ import annotations

import pytest

from agentdbg.model.records import Kind, Step
from agentdbg.store.step_list import StepList


class Source:
    def __init__(self, count: int) -> None:
        self.count = count
        self.built: list[int] = []

    def step_count(self) -> int:
        return self.count

    def step_at(self, position: int) -> Step:
        if not 0 <= position < self.count:
            raise IndexError(position)
        self.built.append(position)
        return Step(position + 1, f"w:{position}", Kind.TOOL, "t")


def test_only_what_is_asked_for_is_built() -> None:
    source = Source(1_000_000)
    steps = StepList(source)
    assert (steps[-1].n, steps[7].n, [step.n for step in steps[3:5]]) == (1_000_000, 8, [4, 5])
    assert source.built == [999_999, 7, 3, 4]


def test_it_grows_with_its_source() -> None:
    source = Source(1)
    steps = StepList(source)
    source.count = 2
    assert (len(steps), steps[1].n) == (2, 2)
    with pytest.raises(IndexError):
        steps[2]
