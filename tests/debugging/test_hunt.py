"""A search through steps can be done in pieces."""

from __future__ import annotations

from agentdbg.debugging.hunt import Hunt
from tests.support.memory_source import plain_steps


def test_pieces_find_what_one_go_finds() -> None:
    steps = plain_steps(100)
    hunt = Hunt(steps, 3, 1, lambda step: step.n == 80, "step 80")
    pieces = 0
    while not hunt.advance(10):
        pieces += 1
    assert (hunt.found, hunt.done, pieces) == (79, True, 7)


def test_backward_and_nothing_found() -> None:
    steps = plain_steps(10)
    assert Hunt(steps, 8, -1, lambda step: step.n == 2, "x").advance() is True
    hunt = Hunt(steps, 5, -1, lambda step: step.n == 9, "x")
    assert hunt.advance() is True
    assert hunt.found is None


def test_starting_beyond_the_end_finds_nothing() -> None:
    for start, direction in ((10, 1), (-1, -1)):
        hunt = Hunt(plain_steps(10), start, direction, lambda _step: True, "x")
        assert hunt.advance() is True
        assert hunt.found is None
