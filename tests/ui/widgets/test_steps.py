"""The columns of a step."""

from __future__ import annotations

from dataclasses import replace

from rich.cells import cell_len

from agentdbg.debugging.marks import marks
from agentdbg.model.records import Effect, Kind, Step, StepStatus
from agentdbg.ui.widgets.steps import header_row, step_row
from tests.support.reading import row_text

STEP = Step(
    n=7, id="w:6", kind=Kind.TOOL, name="pay", effect=Effect.EXTERNAL, fingerprint="fp1:0123456789", latency_ms=12
)


def line(step: Step, *, here: bool = False) -> str:
    return row_text(tuple(step_row(step, marks(step, live=False), here=here)))


def test_names_line_up_under_their_heading_whatever_the_marks() -> None:
    column = row_text(tuple(header_row())).index("name")
    plain = line(STEP)
    assert plain.index("pay") == column
    loaded = replace(STEP, status=StepStatus.ERROR, holes=("x",), attrs={"can_resume": False}, kind=Kind.CHECKPOINT)
    text = line(loaded, here=True)
    assert text.startswith("› ✗ error !")
    assert cell_len(text[: text.index("pay")]) == column


def test_nested_steps_are_set_in_up_to_a_point() -> None:
    assert line(replace(STEP, depth=3)).index("pay") == line(STEP).index("pay") + 6
    assert line(replace(STEP, depth=900)).index("pay") == line(STEP).index("pay") + 24


def test_what_is_not_there_is_blank() -> None:
    assert "–" not in line(replace(STEP, latency_ms=None))
    assert "–" in line(replace(STEP, latency_ms=None, status=StepStatus.OPEN))
    bare = line(replace(STEP, effect=None, fingerprint=None))
    assert "external" not in bare
    assert "0123456" not in bare
