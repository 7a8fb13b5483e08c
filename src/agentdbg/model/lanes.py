"""Lanes: the path of forks under which a step ran, with forks that bear no event left out."""

from __future__ import annotations

from collections.abc import Iterable

ROOT = "0"
MAX_DIGITS = 18


def parse(lane: str) -> tuple[int, ...]:
    """The fork path of a lane, for sorting; anything unreadable is the root."""
    parts = lane.split(".")
    fine = all(part.isascii() and part.isdigit() and len(part) <= MAX_DIGITS for part in parts)
    return tuple(int(part) for part in parts) if fine else (0,)


def normalise(raw: Iterable[str]) -> dict[str, str]:
    """Number event-bearing lanes again, in creation order, below their nearest event-bearing ancestor.

    Args:
        raw: Lanes that bear at least one event, as recorded.

    Returns:
        For each of them its normalised name; the root stays ``"0"``.
    """
    names: dict[tuple[int, ...], str] = {(0,): ROOT}
    children: dict[tuple[int, ...], int] = {}
    result: dict[str, str] = {}
    for path, lane in sorted((parse(lane), lane) for lane in set(raw)):
        if path not in names:
            above = next((path[:k] for k in range(len(path) - 1, 0, -1) if path[:k] in names), (0,))
            number = children.get(above, 0)
            children[above] = number + 1
            names[path] = f"{names[above]}.{number}"
        result[lane] = names[path]
    return result
