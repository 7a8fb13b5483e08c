"""The lanes of two runs, put side by side: which task or thread of one run is which of the other."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from agentdbg.model.lanes import parse
from agentdbg.model.records import Kind, Step


@dataclass(slots=True)
class Lane:
    """The steps of one lane in order, and the lanes forked below it; ``path`` is its name as numbers."""

    name: str
    path: tuple[int, ...]
    steps: list[Step] = field(default_factory=list)
    children: list[Lane] = field(default_factory=list)


LanePair: TypeAlias = "tuple[Lane | None, Lane | None]"
StepKey: TypeAlias = "Callable[[Step], Hashable]"


def met_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps that a replay meets: none inside a call whose outcome is served as a whole, no effect beside a seam."""
    inside: set[str] = set()
    for step in steps:
        if step.kind is Kind.EFFECT:
            continue
        if step.parent is not None and step.parent in inside:
            inside.add(step.id)
            continue
        if step.is_call:
            inside.add(step.id)
        yield step


def tree(steps: Iterable[Step]) -> Lane:
    """The root lane, with the others below it; a lane without steps is left out."""
    grouped: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        grouped[step.lane].append(step)
    root = Lane("0", (0,), grouped.pop("0", []))
    lanes = {root.path: root}
    for path, name in sorted((parse(name), name) for name in grouped):
        lane = lanes[path] = Lane(name, path, grouped[name])
        above = next((path[:k] for k in range(len(path) - 1, 0, -1) if path[:k] in lanes), (0,))
        lanes[above].children.append(lane)
    return root


def pair_lanes(left: Lane, right: Lane, left_key: StepKey, right_key: StepKey) -> Iterator[LanePair]:
    """Pair the lanes of two runs, parents before children.

    By rank when that agrees; else a lane goes to the one that its served calls come from, to one with the same
    content, to one that begins alike, and at last to the next one left.
    """
    signatures = _Signatures(left_key, right_key)
    waiting: deque[LanePair] = deque([(left, right)])
    while waiting:
        a, b = waiting.popleft()
        yield a, b
        below_a, below_b = (a.children if a else []), (b.children if b else [])
        waiting.extend(_paired(below_a, below_b, signatures))


class _Signatures:
    """What a lane and everything below it holds, as a hashable value; computed once each."""

    def __init__(self, left_key: StepKey, right_key: StepKey) -> None:
        self._keys = (left_key, right_key)
        self._known: dict[int, Hashable] = {}

    def of(self, lane: Lane, side: int) -> Hashable:
        """The signature of a lane of the left (0) or right (1) run."""
        known = self._known.get(id(lane))
        if known is None:
            below = Counter(self.of(child, side) for child in lane.children)
            known = hash((tuple(map(self._keys[side], lane.steps)), frozenset(below.items())))
            self._known[id(lane)] = known
        return known


def _paired(left: list[Lane], right: list[Lane], signatures: _Signatures) -> list[LanePair]:
    if len(left) == len(right) and all(
        signatures.of(a, 0) == signatures.of(b, 1) for a, b in zip(left, right, strict=True)
    ):
        return list(zip(left, right, strict=True))
    found: dict[int, Lane] = {}
    free = dict.fromkeys(range(len(left)))
    homes = {step.id: i for i, lane in enumerate(left) for step in lane.steps}

    def match(wanted: Callable[[Lane], int | None]) -> None:
        for j, lane in enumerate(right):
            place = None if j in taken else wanted(lane)
            if place is not None and place in free:
                del free[place]
                taken[j] = found[place] = lane

    taken: dict[int, Lane] = {}
    match(lambda lane: _home(lane, homes))
    whole = (lambda lane: signatures.of(lane, 0), lambda lane: signatures.of(lane, 1))
    for key_a, key_b in (whole, (_first_intent, _first_intent), (_start, _start)):
        places: dict[Hashable, deque[int]] = defaultdict(deque)
        for i in free:
            places[key_a(left[i])].append(i)
        match(lambda lane, key=key_b, known=places: known[key(lane)].popleft() if known[key(lane)] else None)  # type: ignore[misc]  # bound per pass
    match(lambda lane: next(iter(free), None))
    pairs: list[LanePair] = [(lane, found.get(i)) for i, lane in enumerate(left)]
    return [*pairs, *((None, lane) for j, lane in enumerate(right) if j not in taken)]


def _home(lane: Lane, homes: dict[str, int]) -> int | None:
    """The lane that a replayed lane's served calls were recorded in."""
    for step in lane.steps:
        served = step.attrs.get("served_from")
        if isinstance(served, str) and served in homes:
            return homes[served]
    return None


def _first_intent(lane: Lane) -> Hashable:
    first = lane.steps[0]
    return (first.kind, first.name, first.input_hash, first.arguments.sha256 if first.arguments else None)


def _start(lane: Lane) -> Hashable:
    first = lane.steps[0]
    return (first.kind, first.name)
