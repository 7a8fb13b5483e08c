"""What became of each step is a sign and a word."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentdbg.debugging.replay_pairs import Pair
from agentdbg.model.records import Step, StepStatus
from agentdbg.ui.widgets.replaying import mark_of
from tests.support.refund_run import refund_run

TOOL = next(step for step in refund_run().steps() if step.is_call)
SERVED = replace(TOOL, attrs={**TOOL.attrs, "served_from": "x"})


def live(step: Step | None, *, held: bool = False, over: bool = False, first: int | None = None) -> Any:
    outcome = SimpleNamespace(first_divergence=None if first is None else SimpleNamespace(step=first))
    return SimpleNamespace(
        within=frozenset({7}),
        ended=object() if over else None,
        outcome=outcome if over else None,
        is_held=lambda pair: held,
        replayed_step=lambda pair: step,
    )


@pytest.mark.parametrize(
    ("found", "pair", "word"),
    [
        (live(None), Pair(1), ""),
        (live(None, over=True), Pair(1), "- not made"),
        (live(None), Pair(7), "· inside"),
        (live(TOOL, held=True), Pair(1, 1), "‖ paused"),
        (live(SERVED), Pair(1, 1), "= served"),
        (live(TOOL), Pair(1, 1), "~ live"),
        (live(TOOL), Pair(None, 1), "+ new"),
        (live(replace(TOOL, attrs={"dry_run": True})), Pair(1, 1), "≈ dry run"),
        (live(replace(TOOL, attrs={"refused": True})), Pair(None, 1), "⊘ refused"),
        (live(replace(TOOL, status=StepStatus.OPEN)), Pair(1, 1), "● open"),
        (live(replace(TOOL, status=StepStatus.OPEN), over=True), Pair(1, 1), "? no end"),
        (live(SERVED, over=True, first=2), Pair(1, 1), "≠ diverged"),
    ],
)
def test_marks(found: object, pair: Pair, word: str) -> None:
    assert mark_of(cast("Any", found), pair).text == word
