"""The causal cut before a step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.replay import cassette
from agentdbg.replay.prefix import NoSuchStep, cut_before, earlier_checkpoint
from agentdbg.store.reader import DirectoryRunSource
from tests.support.run_records import RunRecords


@pytest.fixture
def source(tmp_path: Path) -> Iterator[DirectoryRunSource]:
    run = RunRecords(tmp_path / "store", "run")
    run.tool("a", {}, 1)
    run.note("checkpoint", "first", {})
    run.tool("b", {}, 2)
    run.note("checkpoint", "second", {})
    run.tool("c", {}, status=None)
    run.tool("d", {}, 3)
    run.end()
    found = DirectoryRunSource(tmp_path / "store" / "runs" / "run")
    found.index(None)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("number", "names"), [(1, []), (2, []), (3, ["a"]), (4, ["a"]), (5, ["a", "b"]), (6, ["a", "b"]), (7, ["a", "b"])]
)
def test_what_had_ended_when_the_step_began_is_before_it(
    source: DirectoryRunSource, number: int, names: list[str]
) -> None:
    calls = cassette.build(source).calls
    cut = cut_before(source, number, calls)
    assert [call.name for call in calls if call.step in cut.calls] == names
    assert cut.step == number


@pytest.mark.parametrize("number", [0, 8])
def test_a_step_that_is_not_there_is_said(source: DirectoryRunSource, number: int) -> None:
    with pytest.raises(NoSuchStep, match="steps 1 to 7"):
        cut_before(source, number, ())


def test_the_checkpoint_ahead_of_a_step_is_proposed(source: DirectoryRunSource) -> None:
    steps = source.steps()
    assert [earlier_checkpoint(source, step.id) for step in steps] == [None, None, None, 3, 3, 5, 5]
    assert earlier_checkpoint(source, "none") is None
