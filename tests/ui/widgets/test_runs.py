"""The columns of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from agentdbg.debugging.runlist import RunRow
from agentdbg.model.records import ErrorInfo, RunStatus, RunSummary
from agentdbg.ui.widgets.runs import head_row, run_row, started
from tests.support.reading import row_text

RUN = RunSummary(
    "run-1", RunStatus.OK, agent="返金デスク-refund-desk-long-name", started_at=0.0, ended_at=2.5, models=("m",)
)


def line(run: RunSummary, width: int = 120, depth: int = 0) -> str:
    return row_text(tuple(run_row(RunRow(run, depth), here=False, selected=False, beat=False, width=width)))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_ids_line_up_under_their_heading(width: int) -> None:
    head = row_text(tuple(head_row(width)))
    text = line(RUN, width)
    assert cell_len(text[: text.index("run-1")]) == head.index("run", 20)


def test_what_went_wrong_stands_behind_the_id() -> None:
    text = line(
        replace(RUN, flag="bad", error=ErrorInfo("E", ""), verdict="diverged", holes=("torn",), tags={"a": "b"})
    )
    assert text[text.index("run-1") :] == "run-1  ⚑ bad  diverged  ✗ E  ○ torn  a=b"


def test_lineage_and_times() -> None:
    assert "↳ run-1" in line(RUN, depth=1)
    assert "2.50s" in line(RUN)
    assert started(0.0) == "01-01 00:00:00"
    assert started(None) == started(1e40) == "–"
