"""Intents, outcomes and hand-offs stand in one line, outcomes where the program went on with them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.replay.placing import Line, Moment


def test_an_outcome_stands_where_the_program_went_on_with_it() -> None:
    asked = [Moment(1.0, 1, "w"), Moment(2.0, 2, "w")]
    ended = [(Moment(3.0, 3, "w"), 0), (Moment(4.0, 4, "w"), 1)]
    handed = [
        (Moment(5.0, 5, "w"), [["", "returned", 4], ["0.1", "put"], ["", "returned", 3], ["0.0", "get", False, 3]])
    ]
    line = Line(asked, ended, handed)  # type: ignore[arg-type]  # as it is read
    assert [(i, is_end) for _, i, is_end in line.moments] == [(0, False), (1, False), (1, True), (0, True)]
    assert [(each.before, each.lane, each.what, each.value, each.times) for each in line.handoffs] == [
        (3, "0.1", "put", None, 1),
        (4, "0.0", "get", False, 3),
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda below: st.lists(below, max_size=6)
)


@given(st.lists(st.lists(_JSON, max_size=6), max_size=5))
def test_no_note_breaks_the_line(notes: list[list[object]]) -> None:
    moment = Moment(1.0, 1, "w")
    line = Line([moment], [(Moment(2.0, 2, "w"), 0)], [(Moment(3.0, 3, "w"), notes)])  # type: ignore[list-item]  # as read
    assert len(line.moments) == 2 and len(line.bursts) == 1
