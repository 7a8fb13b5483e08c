"""Live reads that gave something else than recorded."""

from __future__ import annotations

from agentdbg.compare.step_difference import ByHash
from agentdbg.model.records import Effect, Kind, RunStatus, RunSummary, Step
from agentdbg.replay.drift import drift_between
from tests.support.memory_source import MemorySource


def run(*results: object, effect: Effect = Effect.READ, served: bool = False) -> MemorySource:
    """One call after the other of the same read."""
    source = MemorySource(RunSummary("run", RunStatus.OK))
    for number, result in enumerate(results):
        attrs = {"served_from": "x"} if served else {}
        step = Step(0, f"s{number}", Kind.TOOL, "look", effect=effect, fingerprint="fp1:a", attrs=attrs)
        source.add(replace_result(step, source, result))
    return source


def replace_result(step: Step, source: MemorySource, result: object) -> Step:
    from dataclasses import replace

    return replace(step, result=source.put(result))


def test_a_read_that_gives_something_else_has_drifted() -> None:
    (found,) = drift_between(run({"a": 1}), run({"a": 2}), ByHash())
    assert (found.step, found.name, found.path, found.expected, found.got) == (1, "look", "$.a", "1", "2")
    assert found.members()["replayed"] == "s0"


def test_equal_reads_are_compared_in_turn() -> None:
    assert drift_between(run(1, 2), run(1, 2), ByHash()) == ()
    assert [each.step for each in drift_between(run(1, 2), run(1, 3), ByHash())] == [2]
    assert drift_between(run(1), run(1, 5), ByHash()) == ()


def test_what_was_served_or_is_no_read_has_not_drifted() -> None:
    assert drift_between(run(1), run(2, served=True), ByHash()) == ()
    assert drift_between(run(1), run(2, effect=Effect.NONE), ByHash()) == ()
