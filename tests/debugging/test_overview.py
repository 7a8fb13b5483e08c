"""One pass tells what a run did outside."""

from __future__ import annotations

from dataclasses import replace

from agentdbg.debugging.overview import gather
from agentdbg.model.records import Effect, Kind, StepStatus
from tests.support.memory_source import plain_steps
from tests.support.refund_run import MODEL, refund_run


def test_the_refund_desk_at_a_glance() -> None:
    overview = gather(refund_run().steps())
    assert [step.name for step in overview.done.steps] == ["execute_refund", "notify_customer"]
    assert [step.n for step in overview.in_doubt.steps] == [14]
    assert (overview.approvals.count, overview.errors.count, overview.holes.count) == (1, 1, 1)
    assert overview.models == {MODEL: 4}
    assert (overview.input_tokens, overview.cached_tokens, overview.output_tokens) == (4829, 3307, 160)
    assert overview.complete


def test_the_same_effect_twice_is_flagged() -> None:
    step = replace(plain_steps(1)[0], kind=Kind.TOOL, effect=Effect.EXTERNAL, idempotency_key="k")
    overview = gather([step, replace(step, n=2, id="w:1")])
    assert (overview.done.count, [s.n for s in overview.repeated.steps]) == (2, [2])


def test_effects_without_outcome_and_refused_ones_are_not_done() -> None:
    step = replace(plain_steps(1)[0], kind=Kind.TOOL, effect=Effect.WRITE)
    overview = gather([replace(step, status=StepStatus.OPEN), replace(step, attrs={"refused": True})])
    assert (overview.done.count, overview.in_doubt.count, overview.refused.count) == (0, 1, 1)


def test_a_pass_can_be_stopped() -> None:
    assert gather(plain_steps(5), stop=lambda: True).complete is False


def test_a_run_that_shrinks_meanwhile_ends_the_pass() -> None:
    class Shrinking(list):
        def __len__(self) -> int:
            return 5

    assert gather(Shrinking(plain_steps(2))).complete is False


def test_long_lists_are_counted_in_full_and_kept_in_part() -> None:
    steps = [replace(step, status=StepStatus.ERROR) for step in plain_steps(500)]
    overview = gather(steps)
    assert (overview.errors.count, len(overview.errors.steps)) == (500, 200)


def test_what_a_replay_served_was_not_done() -> None:
    step = replace(plain_steps(1)[0], kind=Kind.TOOL, effect=Effect.EXTERNAL, attrs={"served_from": "w:9"})
    overview = gather([step])
    assert (overview.done.count, overview.served.count, overview.in_doubt.count) == (0, 1, 0)
