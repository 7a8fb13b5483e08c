"""What the debugger says about effects that no seam saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentdbg.debugging.coverage import Coverage, coverage_rows, uncovered_spans
from agentdbg.debugging.marks import marks
from agentdbg.debugging.overview import gather
from agentdbg.model.records import Kind, RunStatus, RunSummary, Step
from tests.support.memory_source import plain_steps

RUN = RunSummary("r", RunStatus.OK)


def effect(number: int = 0, **attrs: Any) -> Step:
    known: dict[str, Any] = {
        "event": "open",
        "detail": f"{{root}}/{number}",
        "frame": "{root}/x.py:3 f",
        "covered": False,
        "under": "agent",
    }
    return replace(plain_steps(1)[0], n=number, kind=Kind.EFFECT, name="open", attrs={**known, **attrs})


def said(summary: RunSummary, coverage: Coverage) -> list[str]:
    return ["".join(span.text for span in row).rstrip() for row in coverage_rows(summary, coverage)]


def test_marks_of_effects() -> None:
    assert [mark.word for mark in marks(effect(), live=False)] == ["uncovered"]
    assert [mark.word for mark in marks(effect(covered=True, contradicts="read"), live=False)] == ["misstated"]
    assert marks(effect(covered=True), live=False) == []
    assert marks(effect(weight="temporary"), live=False) == []


def test_the_section_of_the_summary() -> None:
    steps = [
        effect(1),
        effect(2, covered=True),
        effect(3, weight="temporary"),
        effect(4, covered=True, contradicts="read"),
    ]
    assert said(RUN, gather(steps).coverage) == [
        "» 1 effect not covered   2 inside calls · 1 temporary",
        "      1  file written {root}/1",
        "         {root}/x.py:3 f",
        "! tools that did more than they declare",
        "      4  file written {root}/4  declared read",
        "         {root}/x.py:3 f",
    ]


def test_long_lists_are_counted_and_cut() -> None:
    rows = said(RUN, gather([effect(n) for n in range(40)]).coverage)
    assert rows[0] == "» 40 effects not covered"
    assert (len(rows), rows[-1]) == (1 + 2 * 12 + 1, "         and 28 more")


def test_none_and_nobody_looked_are_two_things() -> None:
    assert said(RUN, Coverage()) == ["nobody looked"]
    assert said(replace(RUN, meta={"uncovered": 0}), Coverage()) == ["none"]


def test_the_status_line_knows_them_from_the_run_or_from_its_steps() -> None:
    assert uncovered_spans(RUN) == []
    ended = replace(RUN, meta={"uncovered": 3})
    assert [span.text for span in uncovered_spans(ended)] == ["  » 3 effects not covered"]
    assert [span.text for span in uncovered_spans(RUN, gather([effect(1)]).coverage)] == ["  » 1 effect not covered"]
