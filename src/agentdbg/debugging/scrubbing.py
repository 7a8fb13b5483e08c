"""The whole run on one line: what deserves attention, at its place."""

from __future__ import annotations

from agentdbg.debugging.document import Span, Tone, span
from agentdbg.debugging.overview import Landmark, Overview

_SIGNS = {
    Landmark.WRITE: ("▴", Tone.WRITE),
    Landmark.EXTERNAL: ("▲", Tone.EXTERNAL),
    Landmark.APPROVAL: ("◆", Tone.ACCENT),
    Landmark.OPEN: ("◌", Tone.WARN),
    Landmark.ERROR: ("✗", Tone.ERROR),
    Landmark.DIVERGENCE: ("≠", Tone.ERROR),
}
_TRACK = ("─", Tone.DIM)
_HERE = ("┃", Tone.STRONG)


def track(overview: Overview | None, count: int, width: int) -> list[Landmark | None]:
    """The landmark of each cell; where several share a cell, the most telling one."""
    cells: list[Landmark | None] = [None] * max(width, 0)
    if overview is None or count <= 0 or width <= 0:
        return cells
    for position, code in zip(overview.places, overview.codes, strict=True):
        cell = min(cell_of(position, count, width), width - 1)
        held = cells[cell]
        if held is None or code > held:
            cells[cell] = Landmark(code)
    return cells


def track_spans(cells: list[Landmark | None], here: int | None) -> list[Span]:
    """The line, with the cursor's cell set off."""
    spans = []
    for index, landmark in enumerate(cells):
        sign, tone = _SIGNS[landmark] if landmark is not None else _HERE if index == here else _TRACK
        spans.append(span(sign, Tone.STRONG if index == here else tone))
    return spans


def cell_of(position: int, count: int, width: int) -> int:
    """The cell in which a step lies."""
    return position * width // count if count > width else position * max(width - 1, 0) // max(count - 1, 1)


def position_of(cell: int, count: int, width: int) -> int:
    """The first step that lies in a cell, or next to it."""
    if count > width:
        return min(-(-cell * count // max(width, 1)), count - 1)
    return min((cell * max(count - 1, 1) + max(width - 1, 1) // 2) // max(width - 1, 1), max(count - 1, 0))
