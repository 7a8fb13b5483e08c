"""The steps of two whole runs side by side: lane by lane, aligned by hash, and in what each pair differs.

Reads nothing but the skeleton. Steps that are equal hold the two runs together; between them steps are paired that made
the same call, then those of the same kind and name.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Final, NamedTuple

from agentdbg.compare.alignment import ADDED, CHANGED, REMOVED, SAME, Row, Stop, align, never
from agentdbg.model.lanes import parse
from agentdbg.model.records import Kind, RunStatus
from agentdbg.store.outline import StepOutline, outline
from agentdbg.store.protocols import RunSource

NAME, INPUT, ARGUMENTS, OUTPUT, RESULT, STATUS, ERROR, KEY, CONTENT = (
    "name",
    "input",
    "arguments",
    "output",
    "result",
    "status",
    "error",
    "key",
    "content",
)
_CALLS: Final = frozenset((Kind.MODEL, Kind.TOOL, Kind.HTTP, Kind.APPROVAL, Kind.AGENT))
_RENAMED: Final = frozenset((Kind.MODEL, Kind.AGENT, Kind.APPROVAL))
NO_LANE: Final = "-"


class StepPair(NamedTuple):
    """Two steps that stand at the same place, or one that stands alone.

    Attributes:
        sign: ``=``, ``~``, ``+`` (only in the second run) or ``-`` (only in the first).
        i: Position in the first run's steps, from 0.
        j: Position in the second run's steps.
        aspects: In what they differ: ``name``, ``input``, ``arguments``, ``output`` (of a model), ``result``,
            ``status``, ``error``, ``key`` (of idempotency), ``content`` (of a note).
    """

    sign: str
    i: int | None
    j: int | None
    aspects: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairedRuns:
    """Attributes:
    pairs: All steps of both runs, in the first run's order.
    notes: One line for each reason why the answer says less than it should.
    hashed: Whether what the steps hold was compared; not where a run has no hashes.
    effects: Places in ``pairs`` of effects that no seam saw and only one of the runs has; no difference of the steps.
    """

    pairs: tuple[StepPair, ...]
    notes: tuple[str, ...] = ()
    hashed: bool = True
    effects: frozenset[int] = frozenset()

    @cached_property
    def differing(self) -> tuple[int, ...]:
        """Places in ``pairs`` that are not equal, for going from one to the next."""
        differing = (place for place, pair in enumerate(self.pairs) if pair.sign != SAME)
        return tuple(place for place in differing if place not in self.effects)

    @cached_property
    def place_of_a(self) -> dict[int, int]:
        """Where a position of the first run stands in ``pairs``."""
        return {pair.i: place for place, pair in enumerate(self.pairs) if pair.i is not None}

    @cached_property
    def place_of_b(self) -> dict[int, int]:
        """Where a position of the second run stands in ``pairs``."""
        return {pair.j: place for place, pair in enumerate(self.pairs) if pair.j is not None}


def pair_runs(a: RunSource, b: RunSource, *, should_stop: Stop = never) -> PairedRuns:
    """Pair the steps of two runs.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    left, right = outline(a), outline(b)
    notes = list(_doubts(a, b, left, right))
    hashed = all(map(_has_hashes, (left, right)))
    if not hashed:
        left, right = _without_hashes(left), _without_hashes(right)
    pairs, note = pair_outlines(left, right, should_stop=should_stop)
    effects = frozenset(
        place for place, pair in enumerate(pairs) if pair.sign != SAME and _is_effect(pair, left, right)
    )
    return PairedRuns(pairs, tuple(line for line in (*notes, note) if line), hashed, effects)


def pair_outlines(
    left: Sequence[StepOutline], right: Sequence[StepOutline], *, should_stop: Stop = never
) -> tuple[tuple[StepPair, ...], str]:
    """Pair steps that are known as outlines; with a note where the alignment is not exact."""
    lanes_a, lanes_b = _by_lane(left), _by_lane(right)
    found: list[list[Row]] = []
    note = ""
    for name_a, name_b in _paired_lanes(left, right, lanes_a, lanes_b):
        places_a, places_b = lanes_a.get(name_a, []), lanes_b.get(name_b, [])
        aligned = align(
            [_content(left[i]) for i in places_a],
            [_content(right[j]) for j in places_b],
            alike=[_keys(left, right, places_a, places_b, key) for key in (_call, _kind_and_name, _kind)],
            should_stop=should_stop,
        )
        note = note or aligned.note
        rows = [(sign, _at(places_a, x), _at(places_b, y)) for sign, x, y in aligned.rows]
        found.append([Row(*row) for row in rows])
    found.extend(_effects(left, right))
    return tuple(_pair(row, left, right) for row in _in_order(found, len(right))), note


def _effects(left: Sequence[StepOutline], right: Sequence[StepOutline]) -> list[list[Row]]:
    """Effects that no seam saw, apart from the steps: which of them both runs have, whatever the lane and the order."""
    free: dict[str, deque[int]] = defaultdict(deque)
    for j, step in enumerate(right):
        if step.kind == Kind.EFFECT:
            free[step.name].append(j)
    rows: list[Row] = []
    for i, step in enumerate(left):
        if step.kind == Kind.EFFECT:
            mates = free.get(step.name)
            rows.append(Row(SAME, i, mates.popleft()) if mates else Row(REMOVED, i, None))
    alone = sorted(j for places in free.values() for j in places)
    return [rows, *([Row(ADDED, None, j)] for j in alone)]


def _is_effect(pair: StepPair, left: Sequence[StepOutline], right: Sequence[StepOutline]) -> bool:
    step = left[pair.i] if pair.i is not None else right[pair.j] if pair.j is not None else None
    return step is not None and step.kind == Kind.EFFECT


def _at(places: Sequence[int], number: int | None) -> int | None:
    return None if number is None else places[number]


def _pair(row: Row, left: Sequence[StepOutline], right: Sequence[StepOutline]) -> StepPair:
    if row.sign != CHANGED or row.i is None or row.j is None:
        return StepPair(*row)
    return StepPair(*row, differing_aspects(left[row.i], right[row.j]))


def _in_order(lanes: Sequence[Sequence[Row]], count: int) -> list[Row]:
    """The rows of all lanes in the first run's order; a step of the second run alone follows what came before it."""
    mates = [-1] * (count + 1)
    for rows in lanes:
        for _, i, j in rows:
            if i is not None and j is not None:
                mates[j] = i
    before, last = [], -1
    for mate in mates:
        before.append(last)
        last = mate if mate >= 0 else last
    placed: list[tuple[float, int, Row]] = []
    for rows in lanes:
        at = -1
        for row in rows:
            at = row.i if row.i is not None else at
            if row.i is None and row.j is not None:
                placed.append(((at if at >= 0 else before[row.j]) + 0.5, row.j, row))
            else:
                placed.append((at, -1, row))
    placed.sort(key=lambda entry: entry[:2])
    return [row for _, _, row in placed]


def differing_aspects(a: StepOutline, b: StepOutline) -> tuple[str, ...]:
    """In what two steps differ."""
    given, made = (ARGUMENTS, OUTPUT if a.kind == Kind.MODEL else RESULT) if a.kind in _CALLS else (CONTENT, RESULT)
    checks = (
        (NAME, a.name, b.name),
        (INPUT, a.input_hash, b.input_hash),
        (given, a.arguments, b.arguments),
        (KEY, a.key, b.key),
        (made, a.result, b.result),
        (STATUS, a.status, b.status),
        (ERROR, a.error, b.error),
    )
    return tuple(aspect for aspect, x, y in checks if x != y)


def _by_lane(steps: Sequence[StepOutline]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, step in enumerate(steps):
        if step.kind != Kind.EFFECT:
            found[step.lane].append(place)
    return dict(found)


def _keys(
    left: Sequence[StepOutline],
    right: Sequence[StepOutline],
    places_a: Sequence[int],
    places_b: Sequence[int],
    key: Callable[[StepOutline], Hashable],
) -> tuple[Callable[[int], Hashable], Callable[[int], Hashable]]:
    return lambda x: key(left[places_a[x]]), lambda y: key(right[places_b[y]])


def _content(step: StepOutline) -> Hashable:
    return (step.kind, step.name, step.input_hash, step.arguments, step.result, step.status, step.error, step.key)


def _call(step: StepOutline) -> Hashable:
    return (step.kind, step.name, step.fingerprint or step.input_hash or step.arguments)


def _kind_and_name(step: StepOutline) -> Hashable:
    return (step.kind, step.name)


def _kind(step: StepOutline) -> Hashable:
    """Another model, agent or question at the same place is a difference in that step, not another step."""
    return (step.kind, step.name if step.kind not in _RENAMED else "")


def _paired_lanes(
    left: Sequence[StepOutline],
    right: Sequence[StepOutline],
    lanes_a: dict[str, list[int]],
    lanes_b: dict[str, list[int]],
) -> Iterator[tuple[str, str]]:
    """Lanes of two runs that belong together, parents first: alike in content, in their first call, or in rank."""
    below_a, below_b = _children(lanes_a), _children(lanes_b)
    waiting = deque([("0", "0")])
    while waiting:
        name_a, name_b = waiting.popleft()
        yield name_a, name_b
        free_a, free_b = (dict.fromkeys(below.get(name, ())) for below, name in ((below_a, name_a), (below_b, name_b)))
        for key in (_content, _call, _kind):
            whole = key is _content
            keyed: dict[Hashable, deque[str]] = defaultdict(deque)
            for lane in free_b:
                keyed[_lane_key(right, lanes_b[lane], key, whole)].append(lane)
            for lane in list(free_a):
                mates = keyed.get(_lane_key(left, lanes_a[lane], key, whole))
                if mates:
                    mate = mates.popleft()
                    del free_a[lane], free_b[mate]
                    waiting.append((lane, mate))
        rest = zip_longest(free_a, free_b)
        waiting.extend((lane or NO_LANE, mate or NO_LANE) for lane, mate in rest)


def _lane_key(
    steps: Sequence[StepOutline], places: Sequence[int], key: Callable[[StepOutline], Hashable], whole: bool
) -> Hashable:
    return tuple(key(steps[place]) for place in (places if whole else places[:1]))


def _children(lanes: dict[str, list[int]]) -> dict[str, list[str]]:
    """The lanes right below each lane that bears steps, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(lanes, key=parse):
        above = name
        while "." in above:
            above = above.rpartition(".")[0]
            if above in lanes:
                break
        if name != "0":
            found[above if above in lanes else "0"].append(name)
    return found


def _doubts(a: RunSource, b: RunSource, left: Sequence[StepOutline], right: Sequence[StepOutline]) -> Iterator[str]:
    for source, steps in ((a, left), (b, right)):
        run = source.summary()
        if not steps:
            yield f"run {run.run_id} has no steps"
        elif not _has_hashes(steps):
            yield f"run {run.run_id} has no hashes: steps are paired by kind and name, what they hold is unknown"
        if run.status is RunStatus.RUNNING:
            yield f"run {run.run_id} is still running: compared as far as it has come"


def _has_hashes(steps: Sequence[StepOutline]) -> bool:
    return not steps or any(step.input_hash or step.arguments or step.result for step in steps)


def _without_hashes(steps: Sequence[StepOutline]) -> list[StepOutline]:
    return [StepOutline(step.kind, step.name, step.lane, step.status, error=step.error) for step in steps]
