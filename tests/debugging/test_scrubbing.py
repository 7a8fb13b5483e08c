"""The whole run on one line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.debugging.overview import Landmark, gather
from agentdbg.debugging.scrubbing import cell_of, position_of, track, track_spans
from tests.support.refund_run import refund_run


def test_landmarks_stand_at_their_places() -> None:
    steps = refund_run().steps()
    cells = track(gather(steps), len(steps), len(steps))
    assert {index + 1: mark.name for index, mark in enumerate(cells) if mark is not None} == {
        12: "APPROVAL", 13: "EXTERNAL", 14: "ERROR", 15: "WRITE",
    }  # fmt: skip
    assert "".join(span.text for span in track_spans(cells, 0)) == "┃──────────◆▲✗▴──"


def test_the_most_telling_landmark_of_a_cell_is_shown() -> None:
    steps = refund_run().steps()
    assert track(gather(steps), len(steps), 1) == [Landmark.ERROR]
    assert track(None, 10, 3) == [None, None, None]
    assert track(gather([]), 0, 3) == [None, None, None]


@given(st.integers(1, 5000), st.integers(1, 300))
def test_clicking_a_landmark_leads_into_its_cell(count: int, width: int) -> None:
    for position in {0, count // 2, count - 1}:
        cell = cell_of(position, count, width)
        assert 0 <= cell < width
        back = position_of(cell, count, width)
        assert 0 <= back < count
        assert cell_of(back, count, width) == cell
